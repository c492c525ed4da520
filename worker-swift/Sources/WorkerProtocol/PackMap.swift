/// Where the members of a map are. What nobody asks for is never looked at.
struct PackMap {
    private let bytes: [UInt8]
    private var members: [(key: Range<Int>, value: Int)] = []

    init(bytes: [UInt8], count: Int) {
        self.bytes = bytes
        members.reserveCapacity(count)
    }

    mutating func add(key: Range<Int>, valueAt position: Int) {
        members.append((key, position))
    }

    /// A member that must be there.
    func required<T>(_ key: String, _ read: (inout PackReader) throws -> T) throws -> T {
        guard var reader = try reader(of: key) else {
            throw DecodeError.malformed("is no message: the member '\(key)' is missing")
        }
        return try read(&reader)
    }

    /// A member that may be left out or null.
    func optional<T>(_ key: String, _ read: (inout PackReader) throws -> T?) throws -> T? {
        guard var reader = try reader(of: key), try !reader.skipNull() else { return nil }
        return try read(&reader)
    }

    /// A member that may be left out.
    func defaulted<T>(_ key: String, _ usual: T, _ read: (inout PackReader) throws -> T) throws -> T {
        guard var reader = try reader(of: key) else { return usual }
        return try read(&reader)
    }

    /// The member that tells what a map is.
    func type() throws -> String {
        try required("type") { try $0.text() }
    }

    private func reader(of key: String) throws -> PackReader? {
        var found: Int?
        for member in members where bytes[member.key].elementsEqual(key.utf8) {
            guard found == nil else { throw DecodeError.malformed("is no message: the member '\(key)' comes twice") }
            found = member.value
        }
        return found.map { PackReader(bytes, at: $0) }
    }
}
