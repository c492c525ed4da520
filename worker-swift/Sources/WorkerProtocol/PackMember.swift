/// What the member of a message is, written.
///
/// Made of these, a message is written in one expression that shows its members in their order.
enum PackMember {
    case bool(Bool)
    case integer(UInt64)
    case number(Double)
    /// Left out without the text.
    case text(String?)
    case texts([String])
    case value(Value)
    case object(ValueObject)
    /// A map of its own.
    case map([(String, PackMember)])
    case maps([[(String, PackMember)]])
    case absent

    init(_ integer: (some FixedWidthInteger & UnsignedInteger)?) {
        self = integer.map { .integer(UInt64($0)) } ?? .absent
    }

    fileprivate var isAbsent: Bool {
        switch self {
        case .absent, .text(nil): true
        default: false
        }
    }
}

extension PackWriter {
    /// A message: its type, then those of the members that are there.
    mutating func message(_ type: String, _ members: (String, PackMember)...) {
        map([("type", .text(type))] + members)
    }

    mutating func map(_ members: [(String, PackMember)]) {
        let members = members.filter { !$0.1.isAbsent }
        mapHead(members.count)
        for (key, member) in members {
            text(key)
            write(member)
        }
    }

    private mutating func write(_ member: PackMember) {
        switch member {
        case .bool(let bool): self.bool(bool)
        case .integer(let integer): self.integer(integer)
        case .number(let number): self.number(number)
        case .text(let text): text.map { self.text($0) } ?? null()
        case .texts(let texts): array(texts) { $0.text($1) }
        case .value(let value): self.value(value)
        case .object(let object): self.object(object)
        case .map(let members): map(members)
        case .maps(let maps): array(maps) { $0.map($1) }
        case .absent: null()
        }
    }
}
