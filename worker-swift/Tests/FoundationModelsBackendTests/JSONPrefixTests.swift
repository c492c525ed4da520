import Testing
import WorkerProtocol

@testable import FoundationModelsBackend

/// What the beginning of a JSON text stands for.
@Suite struct JSONPrefixTests {
    @Test(arguments: [
        (#"{"#, #"{}"#),
        (#" {"a" "#, #"{}"#),
        (#"{"a": "#, #"{}"#),
        (#"{"a": tr"#, #"{}"#),
        (#"{"a": true"#, #"{"a": true}"#),
        (#"{"a": 12"#, #"{}"#),
        (#"{"a": 12 "#, #"{"a": 12}"#),
        (#"{"a": -1.5e3, "#, #"{"a": -1500.0}"#),
        (#"{"a": 1, "b"#, #"{"a": 1}"#),
        (#"{"a": ""#, #"{"a": ""}"#),
        (#"{"a": "x\"#, #"{"a": "x"}"#),
        (#"{"a": "x\u00e"#, #"{"a": "x"}"#),
        (#"{"a": "x\u00e9"#, #"{"a": "xé"}"#),
        (#"{"a": "x\ud83d"#, #"{"a": "x"}"#),
        (#"{"a": "x\ud83d\ude0"#, #"{"a": "x"}"#),
        (#"{"a": "x\uD83D\uDE00"#, #"{"a": "x😀"}"#),
        (#"[1, 2"#, #"[1]"#),
        (#"[[], [{"#, #"[[], [{}]]"#),
        (#"[nul"#, #"[]"#),
        (#""gr"#, #""gr""#),
        (#"7 "#, #"7"#),
        (#"{"a": [true]} "#, #"{"a": [true]}"#),
    ])
    func standsForWhatIsThere(_ prefix: String, _ value: String) throws {
        let expected = try Value(json: value)
        #expect(Value(jsonPrefix: prefix) == expected)
    }

    @Test(arguments: [
        "", " \n", "7", "-", "t", "Hello", "{]", "{a", "{\"a\"}", "{\"a\",", "{,", "{\"a\":1,}", "[1,]", "[,", "[1 2",
        "{} x", "}", "tru ", "[truth", "[01,", "[1.,", "[--1 ", "\"\n", "\"\\x\"", "\"\\u12G4\"", "\"\\ude00\"",
        "\"\\ud83d x\"", "\"\\u12\"",
    ])
    func standsForNothing(_ text: String) {
        #expect(Value(jsonPrefix: text) == nil)
    }

    @Test func nestsSoDeepAndNoDeeper() {
        #expect(Value(jsonPrefix: String(repeating: "[", count: 100)) != nil)
        #expect(Value(jsonPrefix: String(repeating: "[", count: 101)) == nil)
        #expect(Value(jsonPrefix: String(repeating: "[{\"a\":", count: 100_000)) == nil)
    }

    @Test func aLongTextInTinyPiecesIsNotReadForEach() {
        var growing = GrowingValue()
        var text = "[\""
        var readings = 0
        for _ in 0..<20_000 {
            text += "x"
            if growing.read(text) != nil { readings += 1 }
        }
        #expect(readings < 4096 + 32 * 4)
        #expect(growing.finish(text) != nil)
        #expect(growing.finish(text) == nil)
    }
}
