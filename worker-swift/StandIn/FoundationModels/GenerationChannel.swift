// The channel into which an executor streams a step. Events and actions are opaque, as Apple's are: public structs
// without a public member. What they hold is public again, and can only be reached by reflection.

import Foundation

/// See Apple's documentation of the same name.
@available(macOS 27.0, *)
public struct LanguageModelExecutorGenerationChannel: AsyncSequence, Sendable {
    public typealias Element = Event
    public typealias Failure = any Error

    private let rendezvous = Rendezvous<Event>()

    public init() {}

    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(rendezvous: rendezvous)
    }

    public func send(_ event: Event) async {
        await rendezvous.send(event)
    }

    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let rendezvous: Rendezvous<Event>

        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Event? {
            await rendezvous.next()
        }

        // Apple's has only the above; older compilers ask for this one as well.
        public mutating func next() async throws -> Event? {
            await rendezvous.next()
        }
    }
}

@available(macOS 27.0, *)
extension LanguageModelExecutorGenerationChannel {
    public struct Event: Sendable {
        private let kind: Kind

        private enum Kind: Sendable {
            case response(Response)
            case reasoning(Reasoning)
            case toolCalls(ToolCalls)
            indirect case storage(Kind)
            case sealed(Sealed)
        }

        private init(_ kind: Kind) {
            switch StandIn.current.events {
            case .plain: self.kind = kind
            case .wrapped: self.kind = .storage(kind)
            case .sealed: self.kind = .sealed(Sealed(kind))
            }
        }

        public static func response(entryID: String? = nil, action: Response.Action) -> Event {
            Event(.response(Response(entryID: entryID, action: action)))
        }

        public static func reasoning(entryID: String? = nil, action: Reasoning.Action) -> Event {
            Event(.reasoning(Reasoning(entryID: entryID, action: action)))
        }

        public static func toolCalls(entryID: String? = nil, action: ToolCalls.Action) -> Event {
            Event(.toolCalls(ToolCalls(entryID: entryID, action: action)))
        }

        /// For the session of the stand-in, which may look.
        var content: Content {
            var kind = kind
            while true {
                switch kind {
                case .response(let response): return .response(response)
                case .reasoning(let reasoning): return .reasoning(reasoning)
                case .toolCalls(let calls): return .toolCalls(calls)
                case .storage(let inner): kind = inner
                case .sealed(let sealed): kind = sealed.open()
                }
            }
        }

        enum Content {
            case response(Response)
            case reasoning(Reasoning)
            case toolCalls(ToolCalls)
        }

        /// Shows nothing to a mirror: an operating system on which events cannot be read.
        private struct Sealed: Sendable, CustomReflectable {
            let open: @Sendable () -> Kind

            init(_ kind: Kind) {
                open = { @Sendable in kind }
            }

            var customMirror: Mirror { Mirror(self, children: []) }
        }
    }

    public struct Metadata: Sendable {
        public var values: [String: GeneratedContent]
    }

    public struct Usage: Sendable {
        public var input: Input
        public var output: Output
        public var metadata: [String: GeneratedContent]

        public init(input: Input, output: Output, metadata: [String: any ConvertibleToGeneratedContent] = [:]) {
            self.input = input
            self.output = output
            self.metadata = metadata.mapValues(\.generatedContent)
        }

        public struct Input: Sendable {
            public var totalTokenCount: Int
            public var cachedTokenCount: Int

            public init(totalTokenCount: Int, cachedTokenCount: Int) {
                self.totalTokenCount = totalTokenCount
                self.cachedTokenCount = cachedTokenCount
            }
        }

        public struct Output: Sendable {
            public var totalTokenCount: Int
            public var reasoningTokenCount: Int

            public init(totalTokenCount: Int, reasoningTokenCount: Int) {
                self.totalTokenCount = totalTokenCount
                self.reasoningTokenCount = reasoningTokenCount
            }
        }
    }

    public struct TextFragment: Sendable {
        public var content: String
        public var segmentID: String?
        public var tokenCount: Int
    }

    public struct TextSegmentReplacement: Sendable {
        public var content: String
        public var segmentID: String?
        public var tokenCount: Int
    }

    public struct ReasoningSignature: Sendable {
        public var signature: Data
        public var tokenCount: Int
    }
}
