import EmulatorCore
import JSON

/// A table of names and values, one a row. Repeated names keep their order.
struct FieldTable {
    /// The greatest number of rows.
    static let limit = 100
    /// The greatest numbers of bytes of all values together, and of one value.
    private static let byteLimit = 24 << 10
    private static let valueLimit = 4 << 10
    private static let folded = 300

    let caption: String
    let rows: [(String, String)]
    /// Whether the caption is only for screen readers.
    var isCaptionSpoken = false

    var html: HTML {
        var size = 0
        let shown = rows.prefix(FieldTable.limit).prefix { row in
            defer { size += min(row.0.utf8.count, 500) + min(row.1.utf8.count, FieldTable.valueLimit) }
            return size < FieldTable.byteLimit
        }
        let body = shown.map { name, value in
            HTML.tag(
                "tr", [], .tag("th", [("scope", "row")], ShownText.isolated(name, limit: 500)),
                .tag("td", [], FieldTable.value(value)))
        }
        let rest = rows.count - shown.count
        return .group([
            .tag(
                "table", [("class", "exchange-fields")] + (isCaptionSpoken ? [("aria-label", caption)] : []),
                isCaptionSpoken ? .group([]) : .tag("caption", [], caption),
                .element("tbody", attributes: [], children: body)),
            rest > 0
                ? .tag("p", [("class", "soft small")], "\(rest) more aren't shown here: the JSON has all of them.")
                : .group([]),
        ])
    }

    /// Returns a value. A long one, such as a token, is collapsed, so that the others stay in view.
    private static func value(_ value: String) -> HTML {
        guard !value.isEmpty else { return .tag("span", [("class", "soft")], "empty") }
        guard value.utf8.count > folded else { return ShownText.code(value) }
        return .tag(
            "details", [("class", "exchange-long")],
            .tag(
                "summary", [], ShownText.code(Place.shortened(value, to: 20)),
                .tag("span", [("class", "soft")], " \(value.utf8.count) bytes")),
            ShownText.code(value, limit: valueLimit))
    }
}
