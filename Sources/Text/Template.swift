extension String {
    /// Returns the text with a value in place of each name in braces: `"Continue to {client}?"`. A name for which
    /// `value` returns `nil` stays, with its braces. Braces in a value are no names.
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
