#if OAM_STANDIN
import Foundation
@_spi(StandIn) import FoundationModels
import Testing
import WorkerProtocol

@testable import FoundationModelsBackend

/// Images of prompts, which are files.
@Suite final class ImageTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "oam-images-\(UUID().uuidString)")
    private let png = Data([0x89] + "PNG\r\n\u{1a}\nand so on".utf8)

    init() throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    private func file(_ name: String, _ content: Data) throws -> URL {
        let file = folder.appending(path: name)
        try content.write(to: file)
        return file
    }

    private func showing(_ files: URL..., saying text: String = "What is it?") -> Entry {
        .prompt(
            files.map { .attachment(["type": "image", "id": "i", "url": .text($0.absoluteString)]) } + [.text(text)])
    }

    private func request(_ conversation: [Entry]) throws -> FrameworkRequest {
        try FrameworkRequest(Generate(id: 1, transcript: conversation), senses: .images, schemas: SchemaStore())
    }

    private func images(_ request: FrameworkRequest) -> [URL?] {
        request.transcript.flatMap { entry -> [URL?] in
            guard case .prompt(let prompt) = entry else { return [] }
            return prompt.segments.compactMap { segment in
                guard case .attachment(let shown) = segment, case .image(let image) = shown.content else { return nil }
                return image.url
            }
        }
    }

    @Test func theImagesOfAPromptAreShownInTheirOrder() throws {
        let gate = try file("gate 7%.png", png)
        let jpeg = try file("Höhle.jpg", Data([0xff, 0xd8, 0xff, 0xe0]))
        let link = folder.appending(path: "link")
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: gate)
        #expect(images(try request([showing(gate, jpeg, link)])) == [gate, jpeg, link])
    }

    @Test func aFileThatCannotBeShownIsNamed() throws {
        let text = try file("notes.png", Data("The gate is shut.".utf8))
        let empty = try file("empty.png", Data())
        let pipe = folder.appending(path: "pipe.png")
        #expect(mkfifo(pipe.path, 0o600) == 0)
        for (url, fault) in [
            (folder.appending(path: "nowhere.png"), "is not there"), (folder, "is not a file"), (pipe, "is not a file"),
            (text, "holds nothing that can be read as an image"), (empty, "holds nothing that can be read as an image"),
        ] {
            let failure = Failure(.invalidRequest, "The image '\(url.path)' \(fault).")
            #expect(throws: failure) { try request([showing(url)]) }
            // Nor while its turn goes on.
            let call = Entry.toolCalls([ToolCall(id: "1", name: "look")])
            let output = Entry.toolOutput(callID: "1", toolName: "look", segments: [.text("A gate.")])
            #expect(throws: failure) { try request([showing(url), call, output, .prompt([.text("")])]) }
        }
    }

    @Test(arguments: ["file:///a%00b.png", "file:///a%ff.png", "file://"])
    func aStrangeURLIsNoFile(_ url: String) throws {
        let segment: ValueObject = ["type": "image", "id": "i", "url": .text(url)]
        #expect {
            try request([.prompt([.attachment(segment)])])
        } throws: { error in
            (error as? Failure)?.code == .invalidRequest
        }
    }

    @Test func anImageOfBeforeIsLeftOutWhenItsFileIsGone() throws {
        let gate = try file("gate.png", png)
        let gone = folder.appending(path: "gone.png")
        let conversation = [showing(gone, gate, gone), .response([.text("A gate.")]), .prompt([.text("Is it shut?")])]
        let request = try request(conversation)
        #expect(images(request) == [gate])
        #expect(
            request.omissions
                == ["Left out of a conversation: an image that was shown before and can no longer be read."])
    }

    @Test func theModelIsShownTheImage() async throws {
        let gate = try file("gate.png", png)
        let said = try await StandIn.with(#"[{"template": "{images}: {prompt}"}]"#) {
            let backend = FoundationModelsBackend(environment: [:])
            return try await backend.play(Generate(id: 1, transcript: [showing(gate)])) { _ in }.outcome
        }
        #expect(said == .text("gate.png: What is it?"))
    }

    @Test(arguments: [("{}", [true, false, false]), (#"{"vision": false}"#, [false, false, false])])
    func onlyTheDirectWayToAModelThatSeesShowsImages(_ settings: String, _ shows: [Bool]) async throws {
        try await StandIn.with(settings) {
            for (path, shows) in zip(StepPath.allCases, shows) {
                let backend = FoundationModelsBackend(environment: [StepPath.variable: path.rawValue])
                #expect(await backend.prepare().capabilities.images == shows, "\(path)")
            }
        }
    }

    @Test(arguments: StepPath.allCases)
    func whoeverCannotSeeAnswersAllTheSame(_ path: StepPath) async throws {
        let gone = folder.appending(path: "gone.png")
        let said = try await StandIn.with(#"{"vision": false, "steps": [{"template": "{images}: {prompt}"}]}"#) {
            let backend = FoundationModelsBackend(environment: [StepPath.variable: path.rawValue])
            return try await backend.play(Generate(id: 1, transcript: [showing(gone)])) { _ in }.outcome
        }
        #expect(said == .text(": What is it?"))
    }
}
#endif
