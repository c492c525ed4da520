/// The members of an object in their order, none twice.
///
/// Two objects are equal if they have the same members in the same order.
public struct ValueObject: Sendable, Equatable {
    /// The keys in order.
    public private(set) var keys: [String] = []
    /// The values in the order of the keys.
    public private(set) var values: [Value] = []
    /// Where a key is, once there are enough keys to make it worth while.
    private var index: [ExactText: Int] = [:]

    private static let indexedAbove = 8

    /// An object without members.
    public init() {}

    /// The number of members.
    public var count: Int { keys.count }
    public var isEmpty: Bool { keys.isEmpty }

    /// The value of a key. Set, it takes the place of the one before or goes to the end; `nil` changes nothing, and a
    /// member that is null is ``Value/null``.
    public subscript(key: String) -> Value? {
        get { position(of: key).map { values[$0] } }
        set {
            guard let newValue else { return }
            if let position = position(of: key) {
                values[position] = newValue
            } else {
                append(key, newValue)
            }
        }
    }

    private func position(of key: String) -> Int? {
        keys.count > Self.indexedAbove
            ? index[ExactText(key)]
            : keys.firstIndex { $0.hasSameBytes(as: key) }
    }

    private mutating func append(_ key: String, _ value: Value) {
        keys.append(key)
        values.append(value)
        if keys.count == Self.indexedAbove + 1 {
            for (position, key) in keys.enumerated() {
                index[ExactText(key)] = position
            }
        } else if keys.count > Self.indexedAbove {
            index[ExactText(key)] = keys.count - 1
        }
    }

    public static func == (left: ValueObject, right: ValueObject) -> Bool {
        left.keys.elementsEqual(right.keys) { $0.hasSameBytes(as: $1) } && left.values == right.values
    }
}

extension ValueObject: Sequence {
    /// Goes through the members in order.
    public func makeIterator() -> Zip2Sequence<[String], [Value]>.Iterator {
        zip(keys, values).makeIterator()
    }
}
