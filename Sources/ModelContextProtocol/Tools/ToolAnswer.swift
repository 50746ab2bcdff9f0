import JSON

/// What a tool answers.
package struct ToolAnswer: Sendable {
    let text: String
    let structure: JSONObject?
    let isError: Bool

    /// JSON, for those who read members; its text is shown to models.
    package static func object(_ object: JSONObject) -> ToolAnswer {
        ToolAnswer(text: JSONValue.object(object).text, structure: object, isError: false)
    }

    /// A text for people and models.
    package static func text(_ text: String) -> ToolAnswer { ToolAnswer(text: text, structure: nil, isError: false) }

    static func failure(_ failure: ToolFailure) -> ToolAnswer {
        ToolAnswer(text: failure.description, structure: nil, isError: true)
    }

    /// As `tools/call` answers it.
    func result(in revision: Revision) -> JSONObject {
        var result = JSONObject([("content", [["type": "text", "text": .string(text)]])])
        if revision.hasTitlesAndStructure { result["structuredContent"] = structure.map { .object($0) } }
        result["isError"] = .bool(isError)
        return result
    }
}

/// Why a tool can't do what it was asked to. It goes to the model, which can do better then.
package struct ToolFailure: Error, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = Place.shortened(description, to: 4_000) }
}
