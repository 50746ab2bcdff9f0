/// A value by which rows are found. It has a text form, which differs for every value.
package protocol TableKey: Hashable, Codable, Sendable {
    var keyText: String { get }
}

extension String: TableKey {
    package var keyText: String { self }

    /// Makes a key of several parts. Each part has its length before it, so that no two lists of parts give the same
    /// text.
    package init(keyParts parts: String?...) {
        self = ""
        for part in parts {
            guard let part else {
                append("-")
                continue
            }
            append("\(part.utf8.count):")
            append(part)
        }
    }
}

extension Bool: TableKey {
    package var keyText: String { self ? "true" : "false" }
}
