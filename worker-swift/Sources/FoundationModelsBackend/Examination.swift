// An examination of the real model: what tests on other systems cannot find out.
//
// `oam-worker-swift --examine` prints what it finds, for a person and for a report. Each point says what was found, never
// whether that is good; what the worker expects is told in docs/SWIFT-WORKER.md.

import Foundation
import FoundationModels
import WorkerProtocol

/// Plays steps with the model of this system and tells what it saw.
public struct Examination: Sendable {
    /// Streamed steps of the last point.
    let soakSteps: Int
    let say: @Sendable (String) -> Void

    public init(soakSteps: Int, say: @escaping @Sendable (String) -> Void) {
        self.soakSteps = soakSteps
        self.say = say
    }

    /// Goes through all points. One that fails says so, and the next one follows.
    public func run() async {
        let backend = FoundationModelsBackend()
        let ways = ExaminedWays(say: say)
        await describeSystem(backend)
        await ways.counts(backend)
        await describeTranscripts()
        let isAvailable = SystemLanguageModel.default.isAvailable
        guard #available(macOS 27.0, *) else {
            say("1. Events cannot be examined before macOS 27.")
            if isAvailable { await ways.steps() }
            return
        }
        let test = EventSelfTest()
        say("1. Self-test of events: \(test.isPassed ? "passed" : "failed: \(test.failures.joined(separator: ", "))")")
        if !test.losses.isEmpty { say("   not read, and not needed: \(test.losses.joined(separator: ", "))") }
        say("   An event is \(test.layout)")
        guard isAvailable else { return }
        let steps = ExaminedSteps(say: say)
        await steps.structured()
        await steps.calls()
        await steps.caches()
        await steps.cancellation()
        await ways.steps()
        await steps.images()
        await steps.soak(soakSteps)
    }

    private func describeSystem(_ backend: FoundationModelsBackend) async {
        let availability = await backend.availability()
        say("0. \(ProcessInfo.processInfo.operatingSystemVersionString)")
        say("   Steps are played by '\(backend.path.rawValue)'.")
        say("   Available: \(availability.isAvailable), \(availability.reason?.rawValue ?? "no reason not to be")")
        say("   Context size \(availability.contextSize ?? 0), variant \(availability.variant ?? "unknown")")
        say("   Languages: \(availability.supportedLanguages.joined(separator: " "))")
    }

    /// The forms of what transcripts can hold, which are documented nowhere.
    private func describeTranscripts() async {
        say("5. Transcripts in JSON:")
        for sampling in [Sampling.greedy, .topK(k: 40, seed: 7), .topP(p: 0.9, seed: nil)] {
            let options = FoundationModels.GenerationOptions(.init(temperature: 0.5, sampling: sampling))
            describe(.prompt(.init(segments: [.text(.init(id: "s", content: "p"))], options: options)))
        }
        if #available(macOS 27.0, *) {
            let segments = [Transcript.Segment.text(.init(id: "s", content: "hm"))]
            describe(.reasoning(.init(id: "r", segments: segments, signature: Data([1, 2, 3]))))
            await describeImage()
        }
        for version in ["1", "\"1\"", "\"1.0\"", "\"1.1\""] {
            let text = #"{"type":"FoundationModels.Transcript","version":\#(version),"transcript":{"entries":[]}}"#
            let read = Result { try JSONDecoder().decode(Transcript.self, from: Data(text.utf8)) }
            if case .success = read { say("   version \(version) is read") } else { say("   version \(version) is refused") }
        }
    }

    /// An image from a file, which is what an attachment is made of.
    @available(macOS 27.0, *)
    private func describeImage() async {
        do {
            try await ExaminedImage.withFile { file in
                let image = Transcript.AttachmentSegment(id: "i", content: .image(.init(imageURL: file)), label: "gate")
                describe(.prompt(.init(segments: [.attachment(image)])))
            }
        } catch {
            say("   no image, because its file cannot be written: \(error)")
        }
    }

    private func describe(_ entry: Transcript.Entry) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let data = Result { try encoder.encode(Transcript(entries: [entry])) }
        switch data {
        case .success(let data):
            say("   \(String(decoding: data, as: UTF8.self))")
            do {
                _ = try JSONDecoder().decode(Transcript.self, from: data)
            } catch {
                say("   which cannot be read again: \(error)")
            }
        case .failure(let error): say("   cannot be written: \(error)")
        }
    }
}
