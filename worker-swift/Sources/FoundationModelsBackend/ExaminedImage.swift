// The image that an examination shows: 64 pixels wide and high, and all of it red.

import Foundation

enum ExaminedImage {
    /// Calls something with a file that holds the image.
    static func withFile(_ show: (URL) async -> Void) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "oam-red-\(getpid()).png")
        try data.write(to: file)
        await show(file)
        try? FileManager.default.removeItem(at: file)
    }

    private static let data = Data(
        base64Encoded: "iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAAS0lEQVR42u3PQQkAAAgAsetfWiP4FgYrsKZeS0BAQEBAQEBAQEBA"
            + "QEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEDgsqnc8OJg6Ln3AAAAAElFTkSuQmCC") ?? Data()
}
