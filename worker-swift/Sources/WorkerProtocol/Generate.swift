/// All that one inference needs.
public struct Generate: Sendable, Equatable {
    /// Identifies the step.
    public var id: StepID
    /// System instructions, if any.
    public var instructions: String?
    /// The conversation; the turn in progress is last.
    public var transcript: [Entry]
    /// The tools that the model may see.
    public var tools: [ToolDefinition]
    /// Whether the model may, must or must not call tools.
    public var toolMode: ToolMode
    /// The form of the answer, in the dialect of generation schemas. Without it the answer is prose.
    public var schema: Value?
    /// How to generate.
    public var options: GenerationOptions
    /// Whether to send the answer piece by piece.
    public var stream: Bool
    /// Steps with the same key begin with the same instructions, tools and entries more often than not.
    public var cacheKey: String?

    public init(
        id: StepID, instructions: String? = nil, transcript: [Entry] = [], tools: [ToolDefinition] = [],
        toolMode: ToolMode = .disallowed, schema: Value? = nil, options: GenerationOptions = GenerationOptions(),
        stream: Bool = false, cacheKey: String? = nil
    ) {
        self.id = id
        self.instructions = instructions
        self.transcript = transcript
        self.tools = tools
        self.toolMode = toolMode
        self.schema = schema
        self.options = options
        self.stream = stream
        self.cacheKey = cacheKey
    }

    init(_ map: PackMap) throws {
        id = try map.required("id") { try $0.integer() }
        instructions = try map.optional("instructions") { try $0.text() }
        transcript = try map.required("transcript") { try $0.array { try Entry($0.map()) } }
        tools = try map.defaulted("tools", []) { try $0.array { try ToolDefinition($0.map()) } }
        toolMode = try map.required("toolMode") { try $0.choice() }
        schema = try map.optional("schema") { try $0.value() }
        options = try map.defaulted("options", GenerationOptions()) { try GenerationOptions($0.map()) }
        stream = try map.defaulted("stream", false) { try $0.bool() }
        cacheKey = try map.optional("cacheKey") { try $0.text() }
    }

    func write(_ type: String, to writer: inout PackWriter) {
        writer.message(
            type, ("id", .integer(id)), ("instructions", .text(instructions)),
            ("transcript", .maps(transcript.map(\.members))), ("tools", .maps(tools.map(\.members))),
            ("toolMode", .text(toolMode.rawValue)), ("schema", schema.map(PackMember.value) ?? .absent),
            ("options", .map(options.members)), ("stream", .bool(stream)), ("cacheKey", .text(cacheKey)))
    }
}

/// What the model may know of a tool.
public struct ToolDefinition: Sendable, Equatable {
    /// The name to call it by.
    public var name: String
    /// What it does and returns.
    public var description: String
    /// The form of its arguments, in the dialect of generation schemas: an object.
    public var parameters: Value

    public init(name: String, description: String, parameters: Value) {
        self.name = name
        self.description = description
        self.parameters = parameters
    }

    init(_ map: PackMap) throws {
        name = try map.required("name") { try $0.text() }
        description = try map.required("description") { try $0.text() }
        parameters = try map.required("parameters") { try $0.value() }
    }

    var members: [(String, PackMember)] {
        [("name", .text(name)), ("description", .text(description)), ("parameters", .value(parameters))]
    }
}

/// Whether the model may, must or must not call tools.
public enum ToolMode: String, Sendable, CaseIterable {
    /// The model decides.
    case allowed
    /// The model must call a tool.
    case required
    /// The model must answer.
    case disallowed
}

/// How to generate; what is absent is up to the model.
public struct GenerationOptions: Sendable, Equatable {
    /// At least 0.
    public var temperature: Double?
    /// At least 1.
    public var maxResponseTokens: UInt32?
    /// How the next token is chosen.
    public var sampling: Sampling?

    public init(temperature: Double? = nil, maxResponseTokens: UInt32? = nil, sampling: Sampling? = nil) {
        self.temperature = temperature
        self.maxResponseTokens = maxResponseTokens
        self.sampling = sampling
    }

    init(_ map: PackMap) throws {
        temperature = try map.optional("temperature") { try $0.number() }
        maxResponseTokens = try map.optional("maxResponseTokens") { try $0.integer() }
        sampling = try map.optional("sampling") { try Sampling($0.map()) }
    }

    var members: [(String, PackMember)] {
        [
            ("temperature", temperature.map(PackMember.number) ?? .absent),
            ("maxResponseTokens", PackMember(maxResponseTokens)),
            ("sampling", sampling.map { .map($0.members) } ?? .absent),
        ]
    }
}

/// How the next token is chosen. A seed makes the choice reproducible.
public enum Sampling: Sendable, Equatable {
    /// Always the likeliest.
    case greedy
    /// Among the `k` likeliest, at least 1.
    case topK(k: UInt32, seed: UInt64?)
    /// Among the likeliest that together reach the probability `p`, from 0 to 1.
    case topP(p: Double, seed: UInt64?)

    init(_ map: PackMap) throws {
        func seed() throws -> UInt64? { try map.optional("seed") { try $0.integer() } }
        switch try map.type() {
        case "greedy": self = .greedy
        case "topK": self = .topK(k: try map.required("k") { try $0.integer() }, seed: try seed())
        case "topP":
            guard let p = try map.required("p", { try $0.number() }) else {
                throw DecodeError.malformed("is no message: a probability that is no number")
            }
            self = .topP(p: p, seed: try seed())
        case let type: throw DecodeError.malformed("is no message: there is no sampling '\(type)'")
        }
    }

    var members: [(String, PackMember)] {
        switch self {
        case .greedy: [("type", .text("greedy"))]
        case .topK(let k, let seed): [("type", .text("topK")), ("k", PackMember(k)), ("seed", PackMember(seed))]
        case .topP(let p, let seed): [("type", .text("topP")), ("p", .number(p)), ("seed", PackMember(seed))]
        }
    }
}

extension PackReader {
    /// One of a closed set of words.
    mutating func choice<T: RawRepresentable & CaseIterable>() throws -> T where T.RawValue == String {
        let word = try text()
        guard let choice = T(exactly: word) else {
            throw DecodeError.malformed("is no message: there is no \(T.self) '\(word)'")
        }
        return choice
    }
}
