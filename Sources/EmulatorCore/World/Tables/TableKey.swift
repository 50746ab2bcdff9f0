/// What rows are found by: a value that a store can write down as a text, another text for every other value.
package protocol TableKey: Hashable, Codable, Sendable {
    var keyText: String { get }
}

extension String: TableKey {
    package var keyText: String { self }

    /// A key of several parts: each with its length before it, so that no two lists of parts give the same text.
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
