import EmulatorCore
import JSON
import Time

/// Prepares texts that come from requests for display on the inspector's pages. Control characters, and characters that
/// change the writing direction, are made visible. Long texts are shortened to a limit in bytes.
enum ShownText {
    /// Returns a text for display on one line, with line breaks made visible.
    static func plain(_ text: String, limit: Int = 160) -> String { shown(text, limit, isHidden) }

    /// Returns a text for display in a `pre` element, with its line breaks and tabs.
    static func source(_ text: String, limit: Int = .max) -> String {
        shown(text, limit) { $0.value != 0x0A && $0.value != 0x09 && isHidden($0) }
    }

    private static func shown(_ text: String, _ limit: Int, _ isHidden: (Unicode.Scalar) -> Bool) -> String {
        let text = BoundedText.shortened(text, to: limit)
        guard text.unicodeScalars.contains(where: isHidden) else { return text }
        var shown = ""
        for scalar in text.unicodeScalars {
            if !isHidden(scalar) {
                shown.unicodeScalars.append(scalar)
            } else if scalar.value < 0x20, let picture = Unicode.Scalar(0x2400 + scalar.value) {
                shown.unicodeScalars.append(picture)
            } else {
                let digits = String(scalar.value, radix: 16, uppercase: true)
                shown += "⟨U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits + "⟩"
            }
        }
        return shown
    }

    /// Whether a character must be made visible: it is a control character, has no width, or changes the writing
    /// direction as described in <https://www.unicode.org/reports/tr9/#Directional_Formatting_Characters>.
    private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0xAD, 0x061C, 0x180E, 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x206F, 0xFEFF,
            0xFFF9...0xFFFB, 0xE0000...0xE007F:
            true
        default: false
        }
    }

    static func code(_ text: String, limit: Int = 2_000) -> HTML { .of("code.text", isolated(text, limit: limit)) }

    /// The greatest number of bytes that a page shows of a text with many lines.
    static let blockLimit = 64 << 10

    /// Returns a text in an element that isolates its writing direction from the surrounding text.
    static func isolated(_ text: String, limit: Int = 160) -> HTML { .of("bdi", .text(plain(text, limit: limit))) }

    /// Returns a URL or a header's value as HTML, shortened to 400 bytes.
    static func line(_ text: String) -> HTML { isolated(text, limit: 400) }

    /// Describes a duration, given in microseconds, as people say it: "12 ms", "3.4 s", "2 min 5 s".
    static func duration(_ microseconds: Int64) -> String {
        let milliseconds = microseconds / 1000
        if microseconds < 1000 { return "\(microseconds) µs" }
        if milliseconds < 1000 { return "\(milliseconds) ms" }
        let seconds = milliseconds / 1000
        if seconds < 60 { return "\(seconds).\(milliseconds % 1000 / 100) s" }
        if seconds < 3600 { return "\(seconds / 60) min \(seconds % 60) s" }
        return "\(seconds / 3600) h \(seconds % 3600 / 60) min"
    }

    /// Returns a time of the test world's clock as HTML.
    static func time(_ time: Instant) -> HTML {
        let text = time.text
        return .of("time", ["datetime": text], .text(text.replacing("T", with: " ").replacing("Z", with: "")))
    }
}

extension Inspector {
    /// Returns the reason for a refusal as HTML, in which "request r12" links to that recorded request, and "scenario
    /// refresh-revoked" to that scenario's page.
    func linked(_ diagnosis: String, _ exchange: Exchange, limit: Int = 2_000) -> HTML {
        let text = ShownText.plain(diagnosis, limit: limit)
        var parts: [HTML] = []
        var rest = text[...]
        while let match = rest.firstMatch(of: #/request (r[0-9]+)|scenario ([a-z0-9-]+)/#) {
            let page = match.1.map { "requests/\($0)" } ?? match.2.map { "orders/scenarios/\($0)" } ?? ""
            parts += [.text(String(rest[..<match.range.lowerBound])), exchange.link(page, .text(String(match.0)))]
            rest = rest[match.range.upperBound...]
        }
        return .of("bdi", .group(parts), .text(String(rest)))
    }

    /// Returns the reason for a refusal as HTML, with its parts (such as what was received and what was expected) on
    /// separate lines.
    func reasonParts(_ diagnosis: String, _ exchange: Exchange) -> HTML {
        DiagnosisParts(line: ShownText.plain(diagnosis, limit: 2_000)).html { linked($0, exchange) }
    }
}
