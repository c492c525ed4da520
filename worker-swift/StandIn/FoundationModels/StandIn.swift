// A stand-in for Apple's FoundationModels, so that the Swift worker compiles and runs where Apple's is not.
//
// Nothing here is Apple's. What is public has the names, labels and availability of Apple's public interface, as far as
// the worker uses it, and is as opaque where that is opaque; what is behind it is a model that plays a script. So a test
// on Linux shows that the worker does what it should with a framework that behaves like this one. That Apple's behaves
// like this one it cannot show: docs/SWIFT-WORKER.md tells what is known of that, and what is not.
//
// The variable OAM_WORKER_STANDIN holds the script as JSON, or the path of a file with it. `Settings` tells its form.

import Foundation

/// What the stand-in does. For tests; Apple's framework has nothing like it.
@_spi(StandIn)
public enum StandIn {
    /// The variable that holds the settings.
    public static let variable = "OAM_WORKER_STANDIN"

    @TaskLocal static var scoped: Settings?

    private static let ofProcess = Settings.ofProcess()

    static var current: Settings { scoped ?? ofProcess }

    /// Runs something with settings of its own, given as JSON.
    public static func with<Result>(
        _ settings: String, _ operation: () async throws -> Result
    ) async throws -> Result {
        try await $scoped.withValue(Settings(json: settings), operation: operation)
    }
}

/// How events look to a mirror.
enum EventLayout: String {
    /// As in macOS 27.0.
    case plain
    /// With one more level.
    case wrapped
    /// Nothing can be seen.
    case sealed
}

/// An array of steps, or an object:
///
/// - `steps`, `fallback`: a script as docs/PROTOCOL.md has it ("Scripted model"), with the additions of `ScriptStep`.
///   Which step is played follows from the transcript alone: as many as it has answers and rounds of tool calls are
///   over. A line of the instructions that begins with `oam-script:` has a script that comes first. Without any, answers
///   are made up from the request.
/// - `position`: `transcript`, as told; or `process`: each script is played from its beginning to its end, once in the
///   life of the process, whatever the transcripts say
/// - `availability`: `available`, `deviceNotEligible`, `appleIntelligenceNotEnabled` or `modelNotReady`
/// - `contextSize`, `variant`, `languages`
/// - `events`: `plain`, `wrapped` or `sealed`
/// - `counts`: false if tokens cannot be counted
/// - `vision`: false if the model cannot do with images
struct Settings: Sendable {
    var script: Script?
    var availability = SystemLanguageModel.Availability.available
    var contextSize = 8192
    var variant = "AFM 3 Core Advanced"
    var languages = ["de", "en", "sv"]
    var events = EventLayout.plain
    var canCount = true
    var canSee = true
    /// How often each script was asked for a step; nil to be told by transcripts.
    var positions: ScriptPositions?

    init() {}

    init(json: String) throws {
        let content = try GeneratedContent(json: json)
        script = try Script(content)
        guard case .structure = content.kind else { return }
        contextSize = content["contextSize"]?.integer ?? contextSize
        variant = content["variant"]?.text ?? variant
        languages = content["languages"]?.elements?.compactMap(\.text) ?? languages
        canCount = content["counts"]?.bool ?? true
        canSee = content["vision"]?.bool ?? true
        if content["position"]?.text == "process" { positions = ScriptPositions() }
        if let name = content["events"]?.text {
            guard let layout = EventLayout(rawValue: name) else { throw ScriptError("There are no events '\(name)'.") }
            events = layout
        }
        switch content["availability"]?.text {
        case nil, "available": break
        case "deviceNotEligible": availability = .unavailable(.deviceNotEligible)
        case "appleIntelligenceNotEnabled": availability = .unavailable(.appleIntelligenceNotEnabled)
        case "modelNotReady": availability = .unavailable(.modelNotReady)
        case let name?: throw ScriptError("There is no availability '\(name)'.")
        }
    }

    /// A script that cannot be used ends the process: whoever set it must know.
    static func ofProcess() -> Settings {
        guard let value = ProcessInfo.processInfo.environment[StandIn.variable], !value.isEmpty else {
            return Settings()
        }
        do {
            let isJSON = value.hasPrefix("{") || value.hasPrefix("[")
            return try Settings(json: isJSON ? value : String(contentsOfFile: value, encoding: .utf8))
        } catch {
            let message = "\(StandIn.variable) cannot be used: \(error)\n"
            FileHandle.standardError.write(Data(message.utf8))
            exit(2)
        }
    }
}

/// Counts the steps that were taken of scripts.
final class ScriptPositions: @unchecked Sendable {
    private let lock = NSLock()
    private var taken: [String: Int] = [:]

    func next(of script: String) -> Int {
        lock.withLock {
            defer { taken[script, default: 0] += 1 }
            return taken[script, default: 0]
        }
    }
}

extension GeneratedContent {
    subscript(member: String) -> GeneratedContent? {
        guard case .structure(let members, _) = kind, let content = members[member], content.kind != .null else {
            return nil
        }
        return content
    }

    var text: String? {
        if case .string(let value) = kind { value } else { nil }
    }

    var bool: Bool? {
        if case .bool(let value) = kind { value } else { nil }
    }

    var number: Double? {
        if case .number(let value) = kind { value } else { nil }
    }

    var integer: Int? { number.flatMap { Int(exactly: $0) } }

    var elements: [GeneratedContent]? {
        if case .array(let elements) = kind { elements } else { nil }
    }
}
