import Testing

@testable import WorkerProtocol

@Suite struct ValueTests {
    @Test func anyValueComesBackAsItWas() throws {
        var random = Seeded(3)
        for _ in 0..<300 {
            let value = random.value(depth: 3)
            var reader = PackReader(packed(value))
            #expect(try reader.value() == value)
        }
    }

    @Test(arguments: [31, 32, 255, 256, 65_535, 65_536])
    func whatIsLongComesBackAsItWas(_ count: Int) throws {
        var object = ValueObject()
        for index in 0..<count {
            object[String(index)] = .null
        }
        let text = String(repeating: "x", count: count)
        for value: Value in [.text(text), .object(object), .array(Array(repeating: true, count: count))] {
            var reader = PackReader(packed(value))
            let read = try reader.value()
            #expect(read == value)
        }
    }

    @Test func anyValueComesBackFromItsJSONText() throws {
        var random = Seeded(4)
        for _ in 0..<300 {
            let value = random.value(depth: 2)
            #expect(try Value(json: value.jsonText).jsonText == value.jsonText)
        }
    }

    @Test func membersKeepTheirOrderHoweverManyThereAre() {
        var object = ValueObject()
        let keys = (0..<1_000).map { "k\($0 * 7919 % 1_000)" }
        for key in keys {
            object[key] = .text(key)
        }
        object["k7"] = "again"
        #expect(object.keys == keys)
        #expect(object["k7"] == "again")
        #expect(object["k8"] == "k8")
        #expect(object["k1000"] == nil)
    }

    @Test func keysThatOnlyLookTheSameAreDifferent() {
        let object: Value = ["é": 1, "e\u{301}": 2, "K": 3, "\u{212a}": 4]
        #expect(object.object?.count == 4)
        #expect(object["e\u{301}"] == 2)
        #expect(Value.text("é") != .text("e\u{301}"))
    }

    @Test func jsonTextIsWhatTheSupervisorWrites() throws {
        let cases: [(Value, String)] = [
            (.number(42), "42"), (.number(-0.0), "0"), (.number(1e3), "1000"), (.number(-0.5), "-0.5"),
            (.number(1e15), "1000000000000000"), (.number(1e300), "1e+300"), (.number(.leastNonzeroMagnitude), "5e-324"),
            (Value(UInt64.max), "18446744073709551615"), (Value(Double.infinity), "null"),
            ("a\u{2028}b\u{2029}\n\u{1}\u{8}/é\u{2030}", "\"a\\u2028b\\u2029\\n\\u0001\\b/é\u{2030}\""),
            (["b": [1, 2.5, nil], "a": [:]], #"{"b":[1,2.5,null],"a":{}}"#),
        ]
        for (value, text) in cases {
            #expect(value.jsonText == text)
        }
    }

    @Test(arguments: [
        "", " ", "{", "[1,]", "[1 2]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "01", "-", "1.", "1e", ".5", "+1",
        "nul", "\"", "\"\\x\"", "\"\\u12\"", "\"\\ud800\"", "\"\u{1}\"", "1 1", "NaN",
        String(repeating: "[", count: 100_000),
    ])
    func whatIsNotJSONIsRefused(_ text: String) {
        #expect(throws: JSONError.self) { try Value(json: text) }
    }

    @Test func escapesAndPairsOfSurrogatesAreRead() throws {
        #expect(try Value(json: #" "\ud83c\udff0\u00e9\/\n" "#) == "🏰é/\n")
    }
}
