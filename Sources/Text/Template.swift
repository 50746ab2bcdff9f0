extension String {
    /// Returns the text with values in place of names in braces, as in `"Continue to {client}?"`. `value` returns the
    /// value for a name. If `value` returns `nil`, the name stays, with its braces. Braces within a value have no
    /// meaning.
    package func filled(_ value: (Substring) -> String?) -> String {
        let parts = split(separator: "{", omittingEmptySubsequences: false)
        return parts.dropFirst().reduce(into: String(parts.first ?? "")) { text, part in
            if let end = part.firstIndex(of: "}"), let value = value(part[..<end]) {
                text += value + part[part.index(after: end)...]
            } else {
                text += "{\(part)"
            }
        }
    }
}
