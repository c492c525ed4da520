/// The version of this protocol.
public let protocolVersion: UInt32 = 1

/// A worker that is up.
public struct Ready: Sendable, Equatable {
    /// ``protocolVersion``. With any other the worker is not used.
    public var version: UInt32
    /// Who it is.
    public var worker: WorkerInfo
    /// What it can do.
    public var capabilities: Capabilities
    /// Whether its model can be asked now.
    public var availability: Availability

    public init(
        version: UInt32 = protocolVersion, worker: WorkerInfo, capabilities: Capabilities, availability: Availability
    ) {
        self.version = version
        self.worker = worker
        self.capabilities = capabilities
        self.availability = availability
    }

    init(_ map: PackMap) throws {
        version = try map.required("protocol") { try $0.integer() }
        worker = try map.required("worker") { try WorkerInfo($0.map()) }
        capabilities = try map.defaulted("capabilities", Capabilities()) { try Capabilities($0.map()) }
        availability = try map.required("availability") { try Availability($0.map()) }
    }

    var members: [(String, PackMember)] {
        [
            ("protocol", PackMember(version)), ("worker", .map(worker.members)),
            ("capabilities", .map(capabilities.members)), ("availability", .map(availability.members)),
        ]
    }
}

/// Who a worker is.
public struct WorkerInfo: Sendable, Equatable {
    /// The program's name, for people.
    public var name: String
    /// Its version, for people.
    public var version: String
    /// Its process id.
    public var pid: UInt32

    public init(name: String, version: String, pid: UInt32) {
        self.name = name
        self.version = version
        self.pid = pid
    }

    init(_ map: PackMap) throws {
        name = try map.required("name") { try $0.text() }
        version = try map.required("version") { try $0.text() }
        pid = try map.required("pid") { try $0.integer() }
    }

    var members: [(String, PackMember)] {
        [("name", .text(name)), ("version", .text(version)), ("pid", PackMember(pid))]
    }
}

/// What a worker can do.
public struct Capabilities: Sendable, Equatable {
    /// It sends parts of an answer while it is generated.
    public var streaming: Bool
    /// The model itself makes tool calls.
    public var nativeTools: Bool
    /// Structured answers are held to their schema while they are generated.
    public var guidedGeneration: Bool
    /// It answers `countTokens`.
    public var tokenCount: Bool
    /// `prewarm` does something.
    public var prewarm: Bool
    /// It shows the images of prompts to its model.
    public var images: Bool
    /// How many steps it works on at once; at least 1.
    public var parallelSteps: UInt32

    public init(
        streaming: Bool = false, nativeTools: Bool = false, guidedGeneration: Bool = false, tokenCount: Bool = false,
        prewarm: Bool = false, images: Bool = false, parallelSteps: UInt32 = 1
    ) {
        self.streaming = streaming
        self.nativeTools = nativeTools
        self.guidedGeneration = guidedGeneration
        self.tokenCount = tokenCount
        self.prewarm = prewarm
        self.images = images
        self.parallelSteps = parallelSteps
    }

    init(_ map: PackMap) throws {
        func can(_ key: String) throws -> Bool { try map.defaulted(key, false) { try $0.bool() } }
        streaming = try can("streaming")
        nativeTools = try can("nativeTools")
        guidedGeneration = try can("guidedGeneration")
        tokenCount = try can("tokenCount")
        prewarm = try can("prewarm")
        images = try can("images")
        parallelSteps = try map.defaulted("parallelSteps", 1) { try $0.integer() }
    }

    var members: [(String, PackMember)] {
        [
            ("streaming", .bool(streaming)), ("nativeTools", .bool(nativeTools)),
            ("guidedGeneration", .bool(guidedGeneration)), ("tokenCount", .bool(tokenCount)),
            ("prewarm", .bool(prewarm)), ("images", images ? .bool(true) : .absent), ("parallelSteps", PackMember(parallelSteps)),
        ]
    }
}

/// Whether a model can be asked now.
public struct Availability: Sendable, Equatable {
    /// It can.
    public var isAvailable: Bool
    /// Why not.
    public var reason: UnavailableReason?
    /// Tokens that instructions, tools, conversation and answer share; 0 while unknown, `nil` without such a limit.
    public var contextSize: UInt32?
    /// The model's name.
    public var variant: String?
    /// BCP 47 tags.
    public var supportedLanguages: [String]

    public init(
        isAvailable: Bool, reason: UnavailableReason? = nil, contextSize: UInt32? = nil, variant: String? = nil,
        supportedLanguages: [String] = []
    ) {
        self.isAvailable = isAvailable
        self.reason = reason
        self.contextSize = contextSize
        self.variant = variant
        self.supportedLanguages = supportedLanguages
    }

    init(_ map: PackMap) throws {
        isAvailable = try map.required("available") { try $0.bool() }
        reason = try map.optional("reason") { UnavailableReason(rawValue: try $0.text()) }
        contextSize = try map.optional("contextSize") { try $0.integer() }
        variant = try map.optional("variant") { try $0.text() }
        supportedLanguages = try map.defaulted("supportedLanguages", []) { try $0.array { try $0.text() } }
    }

    var members: [(String, PackMember)] {
        [
            ("available", .bool(isAvailable)), ("reason", .text(reason?.rawValue)),
            ("contextSize", PackMember(contextSize)), ("variant", .text(variant)),
            ("supportedLanguages", .texts(supportedLanguages)),
        ]
    }
}

/// Why a model cannot be asked. The set is open.
public struct UnavailableReason: RawRepresentable, Sendable, Hashable {
    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    public static let deviceNotEligible = UnavailableReason(rawValue: "device_not_eligible")
    public static let appleIntelligenceNotEnabled = UnavailableReason(rawValue: "apple_intelligence_not_enabled")
    public static let modelNotReady = UnavailableReason(rawValue: "model_not_ready")
    public static let unknown = UnavailableReason(rawValue: "unknown")
}
