/// Finds the word that was probably meant by a mistyped one.
package enum Spelling {
    /// The most words that are compared, since this is done one by one.
    package static let limit = 1_000

    /// Returns `; did you mean "…"?`, or an empty text if none of the first thousand words is similar.
    package static func hint(_ word: String, among known: [String]) -> String {
        nearest(to: word, among: known).map { "; did you mean \"\($0)\"?" } ?? ""
    }

    /// Returns the most similar of the first thousand words; `nil` if none is similar.
    package static func nearest(to word: String, among known: [String]) -> String? {
        // Only short words are compared, so that a very long one costs nothing.
        guard word.utf8.count <= 160 else { return nil }
        return known.prefix(limit).map { (word: $0, distance: distance(word.lowercased(), $0.lowercased())) }
            .filter { $0.distance <= max(1, min(word.count, $0.word.count) / 3) }
            .min { $0.distance < $1.distance }?.word
    }

    /// Returns Levenshtein's distance, with a swap of two neighbours counted once.
    private static func distance(_ left: String, _ right: String) -> Int {
        let left = Array(left)
        let right = Array(right)
        guard left.count <= 40, right.count <= 40 else { return .max }
        var rows = [Array(0...right.count)]
        for (i, a) in left.enumerated() {
            var row = [i + 1]
            for (j, b) in right.enumerated() {
                var best = min(rows[i][j] + (a == b ? 0 : 1), rows[i][j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, a == right[j - 1], b == left[i - 1] { best = min(best, rows[i - 1][j - 1] + 1) }
                row.append(best)
            }
            rows.append(row)
        }
        return rows[left.count][right.count]
    }
}
