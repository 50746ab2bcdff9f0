import Control
import EmulatorCore
import HTTPServer
import JSON

/// The fields of the forms for orders and settings. Each is filled in from `form`, so that a refused form is shown
/// again as it was sent.
enum OrderField {
    /// Returns a field of one line. `hint` is shown after the label, `options` are offered while a person types.
    static func line(
        _ label: String, _ name: String, _ form: Form, hint: String? = nil, fallback: String = "",
        options: [(value: String, text: String)] = [], _ attributes: [(String, String?)] = []
    ) -> HTML {
        let list = "options-\(name)"
        var all: [(String, String?)] = [("name", name), ("value", form[name] ?? fallback), ("autocomplete", "off")]
        if !attributes.contains(where: { $0.0 == "type" }) { all.append(("type", "text")) }
        if !options.isEmpty { all.append(("list", list)) }
        let input = HTML.tag("input", all + attributes)
        guard !options.isEmpty else { return labelled(label, hint, input) }
        let offered = options.map { HTML.tag("option", [("value", $0.value)], $0.text) }
        return .group([
            labelled(label, hint, input),
            .element("datalist", attributes: [(name: "id", value: list)], children: offered),
        ])
    }

    static func text(_ label: String, _ name: String, _ form: Form, hint: String? = nil, rows: Int = 6) -> HTML {
        let attributes = [("name", name), ("rows", String(rows)), ("spellcheck", "false")]
        // A browser drops the first line break of the element.
        return labelled(label, hint, .tag("textarea", attributes, "\n" + (form[name] ?? "")))
    }

    static func menu(
        _ label: String, _ name: String, _ form: Form, hint: String? = nil, fallback: String = "",
        _ options: [(value: String, text: String)], _ attributes: [(String, String?)] = []
    ) -> HTML {
        menu(label, name, form, hint: hint, fallback: fallback, groups: [(label: nil, options: options)], attributes)
    }

    static func menu(
        _ label: String, _ name: String, _ form: Form, hint: String? = nil, fallback: String = "",
        groups: [(label: String?, options: [(value: String, text: String)])], _ attributes: [(String, String?)] = []
    ) -> HTML {
        let chosen = form[name] ?? fallback
        let children = groups.map { group -> HTML in
            let options = group.options.map { option -> HTML in
                let selected: [(String, String?)] = option.value == chosen ? [("selected", nil)] : []
                return .tag("option", [("value", option.value)] + selected, option.text)
            }
            guard let label = group.label else { return .group(options) }
            return .element("optgroup", attributes: [(name: "label", value: label)], children: options)
        }
        let select = HTML.element(
            "select", attributes: ([("name", name)] + attributes).map { (name: $0.0, value: $0.1) }, children: children)
        return labelled(label, hint, select)
    }

    /// Returns a box to tick, or with `value` one of several choices.
    static func choice(
        _ label: String, _ name: String, _ form: Form, value: String? = nil, isFallback: Bool = false
    ) -> HTML {
        let isChosen = form[name].map { $0 == value ?? "on" } ?? isFallback
        let attributes: [(String, String?)] =
            [("type", value == nil ? "checkbox" : "radio"), ("name", name), ("value", value ?? "on")]
            + (isChosen ? [("checked", nil)] : [])
        return .tag("label", [("class", "choice")], .tag("input", attributes), .tag("span", [], label))
    }

    static func group(_ legend: String, _ fields: [HTML]) -> HTML {
        .element(
            "fieldset", attributes: [],
            children: [
                .tag("legend", [], legend),
                .element("div", attributes: [(name: "class", value: "fields")], children: fields),
            ])
    }

    static func button(
        _ text: String, spoken: String? = nil, _ kind: String? = nil, _ attributes: [(String, String?)] = []
    ) -> HTML {
        .tag(
            "button", (kind.map { [("class", $0)] } ?? []) + attributes, .text(text),
            spoken.map { .tag("span", [("class", "spoken")], " \($0)") } ?? .group([]))
    }

    private static func labelled(_ label: String, _ hint: String?, _ field: HTML) -> HTML {
        .tag("label", [], .text(label), hint.map { .tag("span", [("class", "soft")], " \($0)") } ?? .group([]), field)
    }
}

/// Turns fields into members of a body. A text that isn't a number stays a text, so that the control API says what it
/// expected.
enum OrderValue {
    /// Returns a field's text; `nil` for an empty field.
    static func text(_ name: String, _ form: Form) -> JSONValue? {
        form[name].flatMap { $0.isEmpty ? nil : .string($0) }
    }

    static func number(_ name: String, _ form: Form) -> JSONValue? {
        guard let text = trimmed(name, form) else { return nil }
        return Int64(text).map { .integer($0) } ?? .string(text)
    }

    static func fraction(_ name: String, _ form: Form) -> JSONValue? {
        guard let text = trimmed(name, form) else { return nil }
        if let whole = Int64(text) { return .integer(whole) }
        return Double(text).flatMap { $0.isFinite ? .number($0) : nil } ?? .string(text)
    }

    /// Returns the number of times: `null` if the box `forever` is ticked.
    static func times(_ form: Form) -> JSONValue? { form["forever"] == "on" ? .null : number("times", form) }

    /// Returns the words between spaces and commas.
    static func words(_ name: String, _ form: Form) -> JSONValue? {
        let words = (form[name] ?? "").split { " ,\n\r\t".contains($0) }.map { JSONValue.string(String($0)) }
        return words.isEmpty ? nil : .array(words)
    }

    /// Returns names and values of the rows `NAME1`, `NAME2`… An empty value is `null`; with `reads`, a value that is
    /// JSON is parsed.
    static func rows(_ name: String, _ form: Form, reads: Bool) -> JSONObject {
        var members = JSONObject()
        for number in 1...OrderValue.rowCount {
            guard let key = form["\(name)\(number)"], !key.isEmpty else { continue }
            let text = form["\(name)\(number)Value"] ?? ""
            members[key] = reads ? value(text) : .string(text)
        }
        return members
    }

    /// The number of rows in a form.
    static let rowCount = 4

    private static func value(_ text: String) -> JSONValue {
        guard !text.isEmpty else { return .null }
        return (try? JSONValue(parsing: Array(text.utf8), limits: .control)) ?? .string(text)
    }

    private static func trimmed(_ name: String, _ form: Form) -> String? {
        let text = (form[name] ?? "").filter { !$0.isWhitespace }
        return text.isEmpty ? nil : text
    }
}

extension OrderField {
    /// Returns rows of a name and a value each.
    static func rows(_ what: String, _ name: String, _ form: Form, names: [String] = []) -> HTML {
        let list = "options-\(name)"
        let rows = (1...OrderValue.rowCount).map { number -> HTML in
            let (key, value) = ("\(name)\(number)", "\(name)\(number)Value")
            let hint = number == 1 ? "" : " \(number)"
            return .tag(
                "div", [("class", "orders-row")],
                .tag(
                    "label", [], .text("\(what)\(hint)"),
                    .tag(
                        "input",
                        [
                            ("type", "text"), ("name", key), ("value", form[key] ?? ""), ("list", list),
                            ("autocomplete", "off"),
                        ])),
                .tag(
                    "label", [], .text("Value\(hint)"),
                    .tag(
                        "input",
                        [("type", "text"), ("name", value), ("value", form[value] ?? ""), ("autocomplete", "off")])))
        }
        let offered = HTML.element(
            "datalist", attributes: [(name: "id", value: list)],
            children: names.map { .tag("option", [("value", $0)]) })
        return .group(rows + [offered])
    }
}

// Parts that the pages of orders and settings share.

extension Inspector {
    /// Returns the menu of the pages of an area. `current` is the path of the page that is shown.
    func tabs(_ exchange: Exchange, _ label: String, _ pages: [(path: String, title: String)], current: String) -> HTML
    {
        let items = pages.map { page -> HTML in
            let isCurrent = page.path == current
            return .tag(
                "li", [],
                .tag(
                    "a",
                    [("href", exchange.inspector(page.path))] + (isCurrent ? [("aria-current", "page")] : []),
                    page.title))
        }
        return .tag(
            "nav", [("class", "orders-tabs"), ("aria-label", label)], .element("ul", attributes: [], children: items))
    }

    /// Returns the reason for a refusal, to be shown above the form, which stays filled in.
    func refusalNote(_ refusal: CallRefusal?) -> HTML {
        guard let refusal else { return .group([]) }
        let issues =
            refusal.issues.isEmpty ? [(path: refusal.path ?? "", message: refusal.message)] : refusal.issues
        let lines = issues.map { issue -> HTML in
            .tag(
                "li", [], issue.path.isEmpty ? .group([]) : .group([.tag("code", [], issue.path), .text(": ")]),
                .tag("span", [("class", "text")], ShownText.source(issue.message)))
        }
        return .tag(
            "div", [("class", "note bad"), ("role", "alert")],
            .tag("p", [], .tag("strong", [], "Nothing was done.")),
            .element("ul", attributes: [], children: lines),
            refusal.more.map { .tag("p", [], $0) } ?? .group([]))
    }

    /// Shows the call that a form makes, to be read and copied: so people learn the control API.
    func sentCall(_ exchange: Exchange, _ method: String, _ path: String, _ body: JSONValue?) -> HTML {
        let url = "\(exchange.address.ownBase)\(ControlAPI.root)/\(path)"
        var command = "curl "
        if method != (body == nil ? "GET" : "POST") { command += "-X \(method) " }
        command += ShellWord.quoted(url)
        if let body { command += " \\\n    -d \(ShellWord.quoted(body.text))" }
        return .tag(
            "section", [("class", "card orders-sent"), ("id", "sent"), ("aria-labelledby", "sent-title")],
            .tag("h2", [("id", "sent-title")], "The call that this makes"),
            .tag("p", [], .tag("code", [], "\(method) \(ControlAPI.root)/\(path)")),
            body.map {
                .tag(
                    "pre", [("id", "sent-json"), ("tabindex", "0"), ("aria-label", "Body")],
                    ShownText.source($0.indented()))
            }
                ?? .group([]),
            .tag(
                "pre", [("id", "sent-curl"), ("tabindex", "0"), ("aria-label", "As a command")],
                ShownText.source(command)),
            copyButton("sent-curl", "Copy the command"))
    }

    /// Returns a button that copies the text of the element with this ID.
    func copyButton(_ id: String, _ text: String = "Copy", spoken: String? = nil) -> HTML {
        OrderField.button(
            text, spoken: spoken, "quiet small needs-script", [("type", "button"), ("data-copy-from", id)])
    }

    /// Returns a page after a refusal, with the refusal as its diagnosis.
    func refused(_ page: Response, _ refusal: CallRefusal?) -> Response {
        guard page.status >= 400 else { return page }
        let place = refusal?.path.map { "\($0): " } ?? ""
        return page.diagnosed(Diagnosis(place + (refusal?.message ?? "choose what the form offers")))
    }

    // MARK: - Options

    /// Returns the provider with this name.
    func provider(_ name: String?) -> (any Provider)? { providers.first { $0.name == name } }

    func title(_ provider: any Provider) -> String { provider.facts.title }

    /// The number of clients or people that a field offers. Any other can be typed.
    private static let offered = 100

    /// Returns the seed's clients of a provider.
    func clientOptions(_ exchange: Exchange, _ provider: String) -> [(value: String, text: String)] {
        exchange.world.seed.sections.filter { type(of: $0).name == provider }.flatMap(\.seededClients)
            .prefix(Inspector.offered).map { (value: $0.id, text: $0.kind) }
    }

    func personOptions(_ exchange: Exchange) -> [(value: String, text: String)] {
        exchange.world.read { $0.people(limit: Inspector.offered).people }.map { person in
            (
                value: person.id,
                text: ShownText.source([person.fullName, person.email].filter { !$0.isEmpty }.joined(separator: ", "))
            )
        }
    }

    /// Returns a field for a person: the first ones are offered, a script searches for others.
    func personField(_ exchange: Exchange, _ form: Form, hint: String) -> HTML {
        OrderField.line(
            "Person", "account", form, hint: hint, options: personOptions(exchange),
            [("data-search", exchange.inspector("orders/people"))])
    }

    /// Answers the script that searches while a person types a name: `orders/people?search=ad`, with an ID and a name
    /// for each person found.
    func foundPeople(_ exchange: Exchange) -> Response {
        let search = exchange.request.queryForm["search"] ?? ""
        let found = exchange.world.read { $0.people(search: search, limit: 20).people }
        let people = found.map { person -> JSONValue in
            ["value": .string(person.id), "text": .string("\(person.fullName), \(person.email)")]
        }
        return Response(
            status: 200, contentType: "application/json", headers: Inspector.protection,
            body: JSONValue.array(people).serialized())
    }
}
