import JSON

/// A part of a long list.
enum Page {
    /// As many elements as an answer has room for, with `more` and, to go on, the last one's ID.
    static func answer(
        _ name: String, _ all: [JSONValue], more: Bool = false, last: (JSONValue) -> JSONValue?
    ) -> JSONObject {
        var size = 0
        let shown = all.prefix { item in
            size += item.serialized().count + 1
            return size <= AnswerSize.limit - 500
        }
        guard !shown.isEmpty || all.isEmpty else {
            return AnswerSize.fitted(JSONObject([(name, .array(Array(all.prefix(1))))]))
        }
        var answer = JSONObject([(name, .array(Array(shown)))])
        if more || shown.count < all.count {
            answer["more"] = true
            answer["last"] = shown.last.flatMap(last)
        }
        return answer
    }
}
