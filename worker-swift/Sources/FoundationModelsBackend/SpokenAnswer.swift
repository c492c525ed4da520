// The answer of a step while it is put together from what the model says.

import WorkerProtocol

/// How the shown text of an answer changes.
enum TextChange: Sendable, Equatable {
    case delta(String)
    /// The whole text, which does not begin with what was shown.
    case reset(String)
}

/// The texts, calls and usage of a step so far.
struct SpokenAnswer: Sendable {
    /// A call as the model makes it.
    struct Call: Sendable, Equatable {
        let id: String
        let tool: String
        var arguments: String
    }

    private struct Text: Sendable {
        let place: TextPlace
        var content: String
    }

    private var texts: [Text] = []
    /// Nil for those that were taken back.
    private var begun: [Call?] = []
    /// Where a call is, by its id.
    private var positions: [String: Int] = [:]
    private(set) var usage = TokenUsage()
    /// The length of all texts and calls in bytes.
    private(set) var length = 0

    /// The whole text.
    var text: String {
        texts.count == 1 ? texts[0].content : texts.map(\.content).joined()
    }

    /// The calls that were made, in the order in which they were begun.
    var calls: [Call] { begun.compactMap { $0 } }

    /// Takes in what the model said, and tells how the text changed by it.
    mutating func hear(_ event: ModelEvent) -> TextChange? {
        switch event {
        case .text(let piece, let place): return append(piece, at: place)
        case .replacement(let content, let place): return replace(with: content, at: place)
        case .arguments(let piece, let id, let tool):
            length += piece.utf8.count
            begun[begin(id, tool)]?.arguments += piece
        case .call(let id, let tool): _ = begin(id, tool)
        case .callRemoved(let id):
            if let position = positions.removeValue(forKey: id) { begun[position] = nil }
        case .usage(let usage): self.usage = usage
        case .aside: break
        }
        return nil
    }

    private mutating func append(_ piece: String, at place: TextPlace) -> TextChange? {
        guard !piece.isEmpty else { return nil }
        length += piece.utf8.count
        guard let index = position(of: place) else {
            texts.append(Text(place: place, content: piece))
            return .delta(piece)
        }
        texts[index].content += piece
        return index == texts.count - 1 ? .delta(piece) : .reset(text)
    }

    private mutating func replace(with content: String, at place: TextPlace) -> TextChange? {
        guard let index = position(of: place) else { return append(content, at: place) }
        let before = texts[index].content
        length += content.utf8.count - before.utf8.count
        texts[index].content = content
        if before.hasSameBytes(as: content) { return nil }
        // A text that is told as a whole each time may only have grown.
        guard index == texts.count - 1, content.utf8.starts(with: before.utf8) else { return .reset(text) }
        return .delta(String(decoding: content.utf8.dropFirst(before.utf8.count), as: UTF8.self))
    }

    /// The text at a place. A place that is not told is that of the text that came last.
    private func position(of place: TextPlace) -> Int? {
        texts.lastIndex { text in
            (place.segment == nil || place.segment == text.place.segment)
                && (place.entry == nil || place.entry == text.place.entry)
        }
    }

    private mutating func begin(_ id: String, _ tool: String) -> Int {
        if let position = positions[id] { return position }
        length += id.utf8.count + tool.utf8.count
        positions[id] = begun.count
        begun.append(Call(id: id, tool: tool, arguments: ""))
        return begun.count - 1
    }
}
