import EmulatorCore
import JSON

/// Names and values, one a row. Values that occur more than once keep their order.
struct FieldTable {
    /// Rows that are shown at most.
    static let limit = 100
    /// Bytes of values that are shown at most, all together and of one of them.
    private static let byteLimit = 24 << 10
    private static let valueLimit = 4 << 10
    private static let folded = 300

    let caption: String
    let rows: [(String, String)]
    /// Whether only screen readers need the caption.
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

    /// A long value, such as a token, is folded, so that the others stay in sight.
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
