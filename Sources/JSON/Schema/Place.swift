/// The position of a value in a document, in words. It stays short even if the names are long.
package enum Place {
    private static let limit = 240

    /// Returns `place` with another step.
    package static func step(_ place: String, _ step: String) -> String {
        if place.utf8.count + step.utf8.count <= limit { return place + step }
        return place.hasSuffix("…") ? place : place + "…"
    }

    /// Returns the beginning of `text`, with an ellipsis if it was longer.
    package static func shortened(_ text: String, to limit: Int) -> String {
        guard text.utf8.count > limit else { return text }
        var end = text.utf8.index(text.utf8.startIndex, offsetBy: limit)
        while end > text.startIndex, end.samePosition(in: text.unicodeScalars) == nil {
            end = text.utf8.index(before: end)
        }
        return text[..<end] + "…"
    }
}
