// Images, which come as files.
//
// The framework takes the URL of a file, and does not say what becomes of one that it cannot read. So the file is looked at
// before, and whoever asks hears what is wrong with it.

import Foundation
import FoundationModels
import WorkerProtocol

#if canImport(ImageIO)
    import ImageIO
#endif

/// An image of a conversation: a segment `{"type": "image", "id", "url"}` with the `file:` URL of an absolute path.
struct ImageFile {
    private let id: String
    private let url: URL

    /// `nil` for a segment of any other form.
    init?(_ segment: ValueObject) {
        guard segment.count == 3, segment["type"]?.text == "image", let id = segment["id"]?.text,
            let url = segment["url"]?.text.flatMap(URL.init(string:)), url.isFileURL
        else { return nil }
        self.id = id
        self.url = url
    }

    /// - Throws: ``Failure`` with the code `invalid_request` when the file cannot be shown.
    @available(macOS 27.0, *)
    func segment() throws -> Transcript.Segment {
        if let fault {
            let name = url.path.isEmpty ? url.absoluteString : url.path
            throw Failure(.invalidRequest, "The image '\(name)' \(fault).")
        }
        return .attachment(.init(id: id, content: .image(.init(imageURL: url))))
    }

    /// Why the file cannot be shown. Nothing but a file is opened: a pipe might never be written to.
    private var fault: String? {
        let file = url.resolvingSymlinksInPath()
        // A path ends at a zero for the system, and goes on for others.
        guard !file.path.utf8.contains(0), FileManager.default.fileExists(atPath: file.path) else { return "is not there" }
        let isFile = try? file.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile
        guard isFile == true else { return "is not a file" }
        guard FileManager.default.isReadableFile(atPath: file.path) else { return "may not be read" }
        return Self.isImage(file) ? nil : "holds nothing that can be read as an image"
    }

    #if canImport(ImageIO)
        private static func isImage(_ file: URL) -> Bool {
            guard let source = CGImageSourceCreateWithURL(file as CFURL, nil) else { return false }
            return CGImageSourceCreateImageAtIndex(source, 0, nil) != nil
        }
    #else
        /// The stand-in looks at no pixels: what begins like an image is one.
        private static func isImage(_ file: URL) -> Bool {
            guard let handle = try? FileHandle(forReadingFrom: file) else { return false }
            defer { try? handle.close() }
            let start = (try? handle.read(upToCount: 8)) ?? Data()
            let png = Data([0x89] + "PNG\r\n\u{1a}\n".utf8)
            return [png, Data([0xff, 0xd8, 0xff]), Data("GIF8".utf8)].contains(where: start.starts)
        }
    #endif
}
