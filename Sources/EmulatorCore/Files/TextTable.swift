/// A table in a file of `Assets`: a row a line, with tabs between its columns. Lines that begin with `#` are remarks.
package enum TextTable {
    /// Returns the rows, each with as many columns as the longest.
    package static func rows(_ text: StaticString) -> [[String]] {
        let rows = "\(text)".split(separator: "\n").filter { !$0.hasPrefix("#") }.map { line in
            line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        }
        let width = rows.map(\.count).max() ?? 0
        return rows.map { $0 + Array(repeating: "", count: width - $0.count) }
    }
}
