import JSON
import ModelContextProtocol

/// A part of a long list, as a tool's answer contains it.
struct Page {
    /// The name of the member that contains the list in a tool's answer.
    let name: String
    /// The schema of a tool's whole answer. One of the answer's members is a list.
    let schema: Schema

    /// Describes a tool's answer that contains a list.
    ///
    /// - Parameters:
    ///   - others: the answer's other members.
    ///   - goesOn: whether the tool has the argument `after`, the ID of the element after which the list goes on.
    init(_ name: String, of element: Schema, _ about: String, others: [Schema.Field] = [], goesOn: Bool = false) {
        self.name = name
        let more = Schema.Field.optional(
            "more", .boolean, "true: there are more\(goesOn ? ", with `last` as `after`" : ": narrow them down").")
        let last = Schema.Field.optional("last", .string, "The last element's ID, if there are more.")
        schema = .answer([.required(name, .sequence(of: element), about)] + others, goesOn ? [more, last] : [more])
    }

    /// Returns a tool's answer with as many of the list's elements as the answer's size limit allows. If elements are
    /// left out, the member `more` is `true`. A tool with the argument `after` then also gives the ID of the last
    /// element in the answer, as the member `last`.
    func answer(
        _ all: [JSONValue], more: Bool = false, last: (JSONValue) -> JSONValue? = { _ in nil }
    ) throws(ToolFailure) -> JSONObject {
        var size = 0
        let shown = all.prefix { item in
            size += item.serialized().count + 1
            return size <= AnswerSize.limit - 500
        }
        guard !shown.isEmpty || all.isEmpty else {
            var first = try AnswerSize.fitted(JSONObject([(name, .array(Array(all.prefix(1))))]), schema)
            if more || all.count > 1 {
                first["more"] = true
                first["last"] = all.first.flatMap(last)
            }
            return first
        }
        var answer = JSONObject([(name, .array(Array(shown)))])
        if more || shown.count < all.count {
            answer["more"] = true
            answer["last"] = shown.last.flatMap(last)
        }
        return answer
    }
}
