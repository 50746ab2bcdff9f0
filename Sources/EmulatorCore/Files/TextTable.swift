/// Reads a table from a text file in a module's folder `Assets`. Each line is a row, with tabs between its columns.
/// Lines that begin with `#` are comments.
package enum TextTable {
    /// Returns the rows of a table, each filled up to as many columns as the longest row has.
    package static func rows(_ text: StaticString) -> [[String]] {
        let rows = "\(text)".split(separator: "\n").filter { !$0.hasPrefix("#") }.map { line in
            line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        }
        let width = rows.map(\.count).max() ?? 0
        return rows.map { $0 + Array(repeating: "", count: width - $0.count) }
    }
}
