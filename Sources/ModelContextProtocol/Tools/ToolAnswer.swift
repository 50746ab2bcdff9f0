import JSON

/// The answer of a tool.
package struct ToolAnswer: Sendable {
    let text: String
    let structure: JSONObject?
    let isError: Bool

    /// Makes an answer of JSON, whose text is shown to models.
    package static func object(_ object: JSONObject) -> ToolAnswer {
        ToolAnswer(text: JSONValue.object(object).text, structure: object, isError: false)
    }

    /// Makes an answer of text, for people and models.
    package static func text(_ text: String) -> ToolAnswer { ToolAnswer(text: text, structure: nil, isError: false) }

    static func failure(_ failure: ToolFailure) -> ToolAnswer {
        ToolAnswer(text: failure.description, structure: nil, isError: true)
    }

    /// Returns the result of `tools/call`.
    func result(in revision: Revision) -> JSONObject {
        var result = JSONObject([("content", [["type": "text", "text": .string(text)]])])
        if revision.hasTitlesAndStructure { result["structuredContent"] = structure.map { .object($0) } }
        result["isError"] = .bool(isError)
        return result
    }
}

/// The reason why a tool failed. The model sees it, and can correct its call.
package struct ToolFailure: Error, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = Place.shortened(description, to: 4_000) }
}
