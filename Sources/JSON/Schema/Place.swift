/// Where something stands in a document, in words: short, however long the names on the way are.
package enum Place {
    private static let limit = 240

    /// `place` with one step more.
    package static func step(_ place: String, _ step: String) -> String {
        if place.utf8.count + step.utf8.count <= limit { return place + step }
        return place.hasSuffix("…") ? place : place + "…"
    }

    /// The beginning of `text`, with an ellipsis when there is more.
    package static func shortened(_ text: String, to limit: Int) -> String {
        guard text.utf8.count > limit else { return text }
        var end = text.utf8.index(text.utf8.startIndex, offsetBy: limit)
        while end > text.startIndex, end.samePosition(in: text.unicodeScalars) == nil {
            end = text.utf8.index(before: end)
        }
        return text[..<end] + "…"
    }
}
