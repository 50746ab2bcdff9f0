import EmulatorCore
import JSON
import Time

/// Texts that requests brought, as pages show them: control characters and those that turn the direction of writing are made
/// visible, and long ones cut.
enum ShownText {
    static func plain(_ text: String, limit: Int = 160) -> String {
        guard text.unicodeScalars.contains(where: isHidden) || text.utf8.count > limit else { return text }
        var shown = ""
        for scalar in Place.shortened(text, to: limit).unicodeScalars {
            if !isHidden(scalar) {
                shown.unicodeScalars.append(scalar)
            } else if scalar.value < 0x20, let picture = Unicode.Scalar(0x2400 + scalar.value) {
                shown.unicodeScalars.append(picture)
            } else {
                shown += "\u{FFFD}"
            }
        }
        return shown
    }

    /// Controls, and the marks of <https://www.unicode.org/reports/tr9/#Directional_Formatting_Characters>.
    private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x2069, 0xFEFF: true
        default: false
        }
    }

    /// In an element that keeps its direction of writing to itself.
    static func isolated(_ text: String, limit: Int = 160) -> HTML { .tag("bdi", [], plain(text, limit: limit)) }

    /// Microseconds, as people say them: "12 ms", "3.4 s", "2 min 5 s".
    static func duration(_ microseconds: Int64) -> String {
        let milliseconds = microseconds / 1000
        if microseconds < 1000 { return "\(microseconds) µs" }
        if milliseconds < 1000 { return "\(milliseconds) ms" }
        let seconds = milliseconds / 1000
        if seconds < 60 { return "\(seconds).\(milliseconds % 1000 / 100) s" }
        if seconds < 3600 { return "\(seconds / 60) min \(seconds % 60) s" }
        return "\(seconds / 3600) h \(seconds % 3600 / 60) min"
    }

    /// A moment of the world's clock.
    static func time(_ time: Instant) -> HTML {
        let text = time.text
        return .tag("time", [("datetime", text)], text.replacing("T", with: " ").replacing("Z", with: ""))
    }
}
