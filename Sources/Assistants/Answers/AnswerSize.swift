import JSON
import ModelContextProtocol

/// Keeps the answers of tools short, because everything that a language model reads stays in its context.
enum AnswerSize {
    /// The greatest number of bytes of JSON in a tool's answer: about 6,000 tokens of a language model.
    static let limit = 24_000

    /// The pairs of limits that are tried in turn until a tool's answer is short enough: the greatest number of bytes
    /// of a text, and the greatest number of elements of a list or map.
    private static let steps: [(text: Int, count: Int)] = [
        (4_000, 100), (1_500, 50), (600, 30), (200, 15), (80, 8), (40, 4), (20, 2),
    ]

    /// Returns a tool's answer unchanged if it is short enough. Otherwise its long texts and lists are cut such that
    /// the answer still fits `schema`. A cut text ends with a mark, and the member `cut` names the lists and maps that
    /// were cut.
    static func fitted(_ object: JSONObject, _ schema: Schema) throws(ToolFailure) -> JSONObject {
        guard JSONValue.object(object).serialized().count > limit else { return object }
        for step in steps {
            var cutting = AnswerCutting(textLimit: step.text, countLimit: step.count)
            var cut = cutting.cut(.object(object), schema, at: "$").object ?? JSONObject()
            if let notes = cutting.notes { cut["cut"] = notes }
            if JSONValue.object(cut).serialized().count <= limit { return cut }
        }
        throw ToolFailure("the response is too long to show: request a part of it")
    }

    /// Returns the text if it fits into the limit, or else its beginning and a remark about its length.
    static func cut(_ text: String, to limit: Int) -> String {
        guard text.utf8.count > limit else { return text }
        return "\(BoundedText.shortened(text, to: limit)) (\(text.utf8.count) bytes in all)"
    }
}

/// Shortens a tool's answer that is too long, and records which lists and maps were shortened.
struct AnswerCutting {
    let textLimit: Int
    let countLimit: Int
    private var places: [String] = []

    init(textLimit: Int, countLimit: Int) {
        self.textLimit = textLimit
        self.countLimit = countLimit
    }

    private static let listed = 10

    /// The paths of the lists and maps that were shortened in a tool's answer; `nil` if there are none. Shortened texts
    /// aren't listed, because they end with a mark.
    var notes: JSONValue? {
        guard !places.isEmpty else { return nil }
        let rest = places.count - AnswerCutting.listed
        let shown = places.prefix(AnswerCutting.listed) + (rest > 0 ? [Issues.more(rest)] : [])
        return .array(shown.map { .string($0) })
    }

    /// Returns a JSON value of a tool's answer, shortened. An object keeps all members that `schema` lists.
    mutating func cut(_ value: JSONValue, _ schema: Schema, at place: String) -> JSONValue {
        switch value {
        case .string(let text):
            if case .choice = schema { return value }
            return .string(AnswerSize.cut(text, to: textLimit))
        case .array(let items):
            recordIfCut(items.count, "elements", at: place)
            let inner = AnswerCutting.alternative(schema, for: value).elements
            return .array(
                items.prefix(countLimit).enumerated().map { cut($1, inner, at: BoundedText.extended(place, "[\($0)]")) }
            )
        case .object(let object): return .object(cut(object, AnswerCutting.alternative(schema, for: value), at: place))
        default: return value
        }
    }

    private mutating func cut(_ object: JSONObject, _ schema: Schema, at place: String) -> JSONObject {
        if case .object(let known) = schema {
            return JSONObject(
                object.members.map { member in
                    (
                        member.key,
                        cut(
                            member.value, known[member.key]?.schema ?? .any,
                            at: BoundedText.extended(place, ".\(member.key)"))
                    )
                })
        }
        var inner = Schema.any
        if case .map(let schema) = schema { inner = schema }
        recordIfCut(object.count, "members", at: place)
        return JSONObject(
            object.members.prefix(countLimit).map { member in
                (member.key, cut(member.value, inner, at: BoundedText.extended(place, ".\(member.key)")))
            })
    }

    private mutating func recordIfCut(_ count: Int, _ what: String, at place: String) {
        guard count > countLimit else { return }
        places.append("\(place) has \(count) \(what), the first \(countLimit) of which are here")
    }

    /// Returns the schema's alternative that the value fits, or the schema itself if it has no alternatives.
    private static func alternative(_ schema: Schema, for value: JSONValue) -> Schema {
        switch schema {
        case .nullable(let schema): return alternative(schema, for: value)
        case .either(let first, let second):
            let first = alternative(first, for: value)
            return first.issues(in: LocatedJSON(value, file: "")).isEmpty ? first : alternative(second, for: value)
        default: return schema
        }
    }
}
