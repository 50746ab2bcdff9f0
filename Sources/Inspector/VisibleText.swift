import EmulatorCore
import JSON

/// Texts that others wrote, as pages show them: nothing in them is hidden, or turns the direction of what stands around them.
enum VisibleText {
    /// Control characters and marks of direction are shown by their numbers, `⟨U+202E⟩`; line breaks and tabs stay. `limit` is in
    /// bytes.
    static func of(_ text: String, limit: Int = .max) -> String {
        let text = Place.shortened(text, to: limit)
        guard text.unicodeScalars.contains(where: isHidden) else { return text }
        var shown = ""
        for scalar in text.unicodeScalars {
            if isHidden(scalar) {
                let digits = String(scalar.value, radix: 16, uppercase: true)
                shown += "⟨U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits + "⟩"
            } else {
                shown.unicodeScalars.append(scalar)
            }
        }
        return shown
    }

    /// Controls, characters without width, and <https://www.unicode.org/reports/tr9/#Directional_Formatting_Characters>.
    private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09, 0x0A: false
        case 0..<0x20, 0x7F..<0xA0, 0xAD, 0x061C, 0x180E, 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x206F, 0xFEFF,
            0xFFF9...0xFFFB, 0xE0000...0xE007F:
            true
        default: false
        }
    }
}

extension HTML {
    /// A text of somebody else's, in an element that keeps its direction of writing to itself.
    static func foreign(_ text: String, limit: Int = 2_000) -> HTML {
        .tag("bdi", [], VisibleText.of(text, limit: limit))
    }

    static func code(_ text: String, limit: Int = 2_000) -> HTML {
        .tag("code", [("class", "text")], .foreign(text, limit: limit))
    }
}
