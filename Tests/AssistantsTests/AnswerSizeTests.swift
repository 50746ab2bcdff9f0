import JSON
import ModelContextProtocol
import Testing

@testable import Assistants

@Suite("Answers that are too long")
struct AnswerSizeTests {
    private static let schema = Schema.members([
        .required("id", .string, "Its ID."), .required("kind", .choice(["one", "two"]), "Its kind."),
        .required(
            "items",
            .sequence(of: .members([.required("name", .string, "Its name."), .required("size", .count, "Bytes.")])),
            "Its parts."), .optional("labels", .map(of: .string), "Names and values."),
        .optional("value", .nullable(.any), "Anything."),
    ]).answered

    private func object(_ items: Int, name: Int, labels: Int = 0, value: JSONValue = .null) -> JSONObject {
        let item: JSONValue = ["name": .string(String(repeating: "n", count: name)), "size": 7]
        return JSONObject([
            ("id", "x"), ("kind", "two"), ("items", .array(Array(repeating: item, count: items))),
            (
                "labels",
                .object(JSONObject((0..<labels).map { ("label\($0)", .string(String(repeating: "l", count: 40))) }))
            ), ("value", value),
        ])
    }

    @Test("a short one stays as it is")
    func short() throws {
        let object = object(3, name: 10, labels: 2)
        #expect(JSONValue.object(try AnswerSize.fitted(object, AnswerSizeTests.schema)) == .object(object))
    }

    @Test(
        "whatever is too much of it, what is left has the form that was announced, and says what is missing",
        arguments: [(10_000, 10, 0), (10, 100_000, 0), (2, 10, 5_000), (5_000, 5_000, 5_000)])
    func cut(_ items: Int, _ name: Int, _ labels: Int) throws {
        let value: JSONValue = .array((0..<labels).map { ["number": .integer(Int64($0))] })
        let fitted = JSONValue.object(
            try AnswerSize.fitted(object(items, name: name, labels: labels, value: value), AnswerSizeTests.schema))
        #expect(fitted.serialized().count <= AnswerSize.limit)
        let issues = AnswerSizeTests.schema.issues(in: LocatedJSON(fitted, file: "answer"))
        #expect(issues.isEmpty, "\(issues)")
        #expect(fitted["kind"]?.string == "two")
        let notes = (fitted["cut"]?.array ?? []).compactMap(\.string)
        #expect(notes.contains { $0.hasPrefix("$.items has \(items) elements") } == (items > 100))
        #expect(notes.contains { $0.hasPrefix("$.labels has \(labels) members") } == (labels > 100))
        #expect(fitted.text.contains("bytes in all)") == (name > 1_000))
    }
}
