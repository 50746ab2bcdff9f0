import JSON
import ModelContextProtocol

/// Keeps answers short, because everything that a model reads stays in its context.
enum AnswerSize {
    /// The most bytes of JSON: about 6,000 tokens.
    static let limit = 24_000

    /// The longest texts, and the most elements and members, of an answer. Each step allows less.
    private static let steps: [(text: Int, count: Int)] = [
        (4_000, 100), (1_500, 50), (600, 30), (200, 15), (80, 8), (40, 4), (20, 2),
    ]

    /// Returns the object unchanged if it is short enough, or else with long texts and lists cut so that it still fits
    /// `schema`. Cut texts say so themselves; for lists and maps, the member `cut` does.
    static func fitted(_ object: JSONObject, _ schema: Schema) throws(ToolFailure) -> JSONObject {
        guard JSONValue.object(object).serialized().count > limit else { return object }
        for step in steps {
            var cutting = AnswerCutting(textLimit: step.text, countLimit: step.count)
            var cut = cutting.cut(.object(object), schema, at: "$").object ?? JSONObject()
            if let notes = cutting.notes { cut["cut"] = notes }
            if JSONValue.object(cut).serialized().count <= limit { return cut }
        }
        throw ToolFailure("the answer is too long to be shown: ask for a part of it")
    }

    /// Returns the text, or its beginning and its length.
    static func cut(_ text: String, to limit: Int) -> String {
        guard text.utf8.count > limit else { return text }
        return "\(Place.shortened(text, to: limit)) (\(text.utf8.count) bytes in all)"
    }
}
