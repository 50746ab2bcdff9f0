/// Guesses what a mistyped word was meant to be.
package enum Spelling {
    /// More words aren't compared: they are compared one by one.
    package static let limit = 1_000

    /// `; did you mean "…"?`, or nothing when none of the first thousand words is near.
    package static func hint(_ word: String, among known: [String]) -> String {
        nearest(to: word, among: known).map { "; did you mean \"\($0)\"?" } ?? ""
    }

    /// The nearest of the first thousand words; `nil` when none is near.
    package static func nearest(to word: String, among known: [String]) -> String? {
        // Only short words are compared, so that a hostile one costs nothing.
        guard word.utf8.count <= 160 else { return nil }
        return known.prefix(limit).map { (word: $0, distance: distance(word.lowercased(), $0.lowercased())) }
            .filter { $0.distance <= max(1, min(word.count, $0.word.count) / 3) }
            .min { $0.distance < $1.distance }?.word
    }

    /// Levenshtein's distance, two neighbours swapped counting once.
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
