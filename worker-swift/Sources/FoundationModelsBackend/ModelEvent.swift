// What a model says while it plays a step, whatever it is said through.

import WorkerProtocol

/// Where a piece of text belongs: a step may say several texts.
struct TextPlace: Sendable, Equatable {
    var entry: String?
    var segment: String?
}

/// One thing that a model says.
enum ModelEvent: Sendable, Equatable {
    /// A text grows.
    case text(String, TextPlace)
    /// A text is taken back for another.
    case replacement(String, TextPlace)
    /// The arguments of a call grow. JSON, when all of them are there.
    case arguments(String, call: String, tool: String)
    /// A call that was begun, and has no more to say yet.
    case call(String, tool: String)
    /// A call is taken back.
    case callRemoved(String)
    /// What the step has cost so far.
    case usage(TokenUsage)
    /// Something that is no part of an answer: reasoning, metadata.
    case aside
}
