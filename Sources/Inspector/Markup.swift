import EmulatorCore
import HTTPServer
import JSON

// The words in which pages are written: an element by a selector, and the parts that many pages have.

/// The value of an HTML attribute: a text, or a Boolean for an attribute that has only a name, such as `checked`.
protocol AttributeValue {}
extension String: AttributeValue {}
extension Bool: AttributeValue {}

/// The attributes of an HTML element, written as `["href": url, "rel": "next", "hidden": isEmpty]`. Attributes that are
/// `nil` or false are left out.
struct Attributes: ExpressibleByDictionaryLiteral {
    fileprivate var all: [(name: String, value: String?)]

    init(dictionaryLiteral attributes: (String, (any AttributeValue)?)...) {
        all = attributes.compactMap { name, value in
            if let text = value as? String { return (name, text) }
            return value as? Bool == true ? (name, nil) : nil
        }
    }

    func after(_ first: Attributes) -> Attributes {
        var sum = first
        sum.all += all
        return sum
    }
}

/// A choice that a form or a list offers: the value that is sent, and the words that a person reads.
typealias Option = (value: String, text: String)

extension HTML: ExpressibleByStringInterpolation {
    package init(stringLiteral text: String) { self = .text(text) }

    /// Returns an HTML element. `selector`, such as `p.note.bad#why`, gives its name, classes and ID. Children that are
    /// `nil` are left out.
    static func of(_ selector: String, _ children: HTML?...) -> HTML { make(selector, [:], children) }

    static func of(_ selector: String, _ attributes: Attributes, _ children: HTML?...) -> HTML {
        make(selector, attributes, children)
    }

    private static func make(_ selector: String, _ attributes: Attributes, _ children: [HTML?]) -> HTML {
        let parts = selector.split(separator: "#")
        let names = (parts.first ?? "").split(separator: ".")
        var own: [(name: String, value: String?)] = parts.dropFirst().map { ("id", String($0)) }
        if names.count > 1 { own.append(("class", names.dropFirst().joined(separator: " "))) }
        return .element(
            names.first.map(String.init) ?? "div", attributes: own + attributes.all,
            children: children.compactMap { $0 })
    }

    static func link(_ text: String, to url: String) -> HTML { .of("a", ["href": url], .text(text)) }
    static func soft(_ text: String) -> HTML { .of("span.soft", .text(text)) }
    static func small(_ text: String) -> HTML { .of("p.soft.small", .text(text)) }
    static func badge(_ text: String, _ kind: String = "") -> HTML { .of("span.badge.\(kind)", .text(text)) }
    static func spoken(_ text: String) -> HTML { .of("span.spoken", .text(text)) }
    static func list(_ selector: String = "ul", _ items: [HTML]) -> HTML {
        .of(selector, .group(items.map { .of("li", $0) }))
    }

    /// Returns a paragraph that draws attention. `kind` is `good`, `bad`, `warn` or empty. Screen readers announce a
    /// paragraph of the kind `bad` at once.
    static func note(_ kind: String, _ content: HTML?...) -> HTML {
        .of("p.note.\(kind)", ["role": kind == "bad" ? "alert" : nil], .group(content.compactMap { $0 }))
    }

    /// Returns a text as HTML, in which words between backticks become code.
    static func prose(_ text: String) -> HTML { .group(Document.inline(ShownText.source(text)) { _ in nil }) }

    /// Returns a block of preformatted text that can be scrolled with the keyboard, too.
    static func source(_ text: String, label: String, id: String? = nil, limit: Int = .max) -> HTML {
        .of("pre", ["id": id, "tabindex": "0", "aria-label": label], .text(ShownText.source(text, limit: limit)))
    }

    /// Returns an HTML list of names and values, such as the headers of a request.
    static func facts(_ rows: [(String, HTML)]) -> HTML? {
        guard !rows.isEmpty else { return nil }
        return .of("dl.facts", .group(rows.map { .group([.of("dt", ShownText.isolated($0.0)), .of("dd", $0.1)]) }))
    }

    static func card(_ title: String, as selector: String = "section.card", _ content: HTML?...) -> HTML {
        .of(selector, .of("h2", .text(title)), .group(content.compactMap { $0 }))
    }

    /// Returns a line such as "5 more aren't shown here."; `nil` if `count` is 0.
    static func more(_ count: Int, _ words: String = "more aren't shown here.") -> HTML? {
        count > 0 ? .small("\(count) \(words)") : nil
    }

    // MARK: - Tables

    /// A row of an HTML table: its cells, and the attributes of the row's element.
    struct Row: ExpressibleByArrayLiteral {
        var attributes: Attributes = [:]
        var cells: [HTML]

        init(arrayLiteral cells: HTML...) { self.cells = cells }
        init(_ attributes: Attributes, _ cells: HTML...) { (self.attributes, self.cells) = (attributes, cells) }
    }

    /// Returns an HTML table. On a phone its rows become cards, in which each cell is labelled with its column. If
    /// `columns` is empty, the table has no head. If `headed` is true, the first cell of each row is the row's heading.
    static func table(
        _ selector: String, _ columns: [String], caption: HTML? = nil, label: String? = nil, headed: Bool = false,
        _ rows: [Row]
    ) -> HTML {
        let head = HTML.of(
            "thead",
            .of("tr", .group(columns.map { .of("th", ["scope": "col"], $0.isEmpty ? .spoken("Actions") : .text($0)) })))
        let body = rows.map { row in
            HTML.of(
                "tr", row.attributes,
                .group(
                    row.cells.enumerated().map { number, cell in
                        headed && number == 0
                            ? .of("th", ["scope": "row"], cell)
                            : .of("td", ["data-label": number < columns.count ? columns[number] : nil], cell)
                    }))
        }
        return .of(
            "table.\(selector)", ["aria-label": label], caption.map { .of("caption", $0) },
            columns.isEmpty ? nil : head,
            .of("tbody", .group(body)))
    }

    // MARK: - Forms

    /// Returns a form control with its label. `hint` is shown after the label.
    static func field(_ label: String, hint: String? = nil, _ control: HTML) -> HTML {
        .of("label", .text(label), hint.map { .soft(" \($0)") }, control)
    }

    static func input(_ name: String, _ value: String, type: String = "text", _ more: Attributes = [:]) -> HTML {
        .of("input", more.after(["type": type, "name": name, "value": value, "autocomplete": "off"]))
    }

    static func textarea(_ name: String, _ text: String, rows: Int, _ more: Attributes = [:]) -> HTML {
        // A browser drops the first line break of the element.
        .of("textarea", more.after(["name": name, "rows": "\(rows)", "spellcheck": "false"]), "\n\(text)")
    }

    static func options(_ options: [Option], chosen: String? = nil) -> HTML {
        .group(options.map { .of("option", ["value": $0.value, "selected": $0.value == chosen], .text($0.text)) })
    }

    static func select(_ name: String, _ options: [Option], chosen: String, _ more: Attributes = [:]) -> HTML {
        .of("select", more.after(["name": name]), .options(options, chosen: chosen))
    }

    /// Returns a checkbox, or a radio button if there is a `value`.
    static func choice(_ label: String, _ name: String, value: String? = nil, isChosen: Bool) -> HTML {
        .of(
            "label.choice",
            .of(
                "input",
                [
                    "type": value == nil ? "checkbox" : "radio", "name": name, "value": value ?? "on",
                    "checked": isChosen,
                ]
            ), .of("span", .text(label)))
    }

    /// Returns an HTML button. Screen readers read the button's text and then `spoken`.
    static func button(_ text: String, spoken: String? = nil, _ kind: String = "", _ more: Attributes = [:]) -> HTML {
        .of("button.\(kind)", more, .text(text), spoken.map { .spoken(" \($0)") })
    }
}

extension Exchange {
    /// Returns a link to the inspector's page at `path`. With a `kind` such as `quiet`, the link looks like a button.
    func link(_ path: String, _ content: HTML, _ kind: String? = nil) -> HTML {
        .of("a\(kind.map { ".button.\($0)" } ?? "")", ["href": inspector(path)], content)
    }
}
