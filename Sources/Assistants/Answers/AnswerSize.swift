import JSON

/// Keeps answers short: what a model has read, it can't forget.
enum AnswerSize {
    /// In bytes of JSON: some 6,000 tokens.
    static let limit = 24_000

    /// How long texts, and how many elements and members, an answer shows. Each step shows less.
    private static let steps: [(text: Int, count: Int)] = [
        (4_000, 100), (1_500, 50), (600, 30), (200, 15), (80, 8), (40, 4), (20, 2),
    ]

    /// The object as it is, where it is short enough, or else with long texts and lists cut, which says so in their place.
    static func fitted(_ object: JSONObject) -> JSONObject {
        let whole = JSONValue.object(object)
        guard whole.serialized().count > limit else { return object }
        for step in steps {
            let cut = cut(whole, step.text, step.count)
            if cut.serialized().count <= limit { return cut.object ?? JSONObject() }
        }
        return JSONObject([("cut", .string("the answer is too long: ask for a part of it"))])
    }

    /// The text, or its beginning and how long it is.
    static func cut(_ text: String, to limit: Int) -> String {
        guard text.utf8.count > limit else { return text }
        return "\(Place.shortened(text, to: limit)) (\(text.utf8.count) bytes in all)"
    }

    private static func cut(_ value: JSONValue, _ text: Int, _ count: Int) -> JSONValue {
        switch value {
        case .string(let string): return .string(cut(string, to: text))
        case .array(let items):
            let shown = items.prefix(count).map { cut($0, text, count) }
            let rest = items.count - shown.count
            return .array(shown + (rest > 0 ? [.string("… and \(rest) more")] : []))
        case .object(let object):
            var shown = JSONObject(object.members.prefix(count).map { ($0.key, cut($0.value, text, count)) })
            if object.count > count { shown["…"] = .string("and \(object.count - count) more members") }
            return .object(shown)
        default: return value
        }
    }
}
