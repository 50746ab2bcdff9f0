import EmulatorCore
import HTTPServer
import JSON

/// A form for a JSON object, made from the object's schema: a control for each field, labelled in words, with the
/// field's meaning as a hint. Only the fields that the user has changed are read, so that changes by other people in
/// the meantime stay.
struct SchemaForm: Sendable {
    /// A field for which the form has a control: the field's path in the object, and its declaration in the schema.
    struct Leaf: Sendable {
        let path: [String]
        let field: Schema.Field

        /// The field's path with dots between the names. Messages about the field's value write `$.` in front of the
        /// path.
        var name: String { path.joined(separator: ".") }
        var member: String { path.last ?? "" }
        /// The name of the HTML control for a field of the form.
        var control: String { "field.\(name)" }
        var isNullable: Bool {
            if case .nullable = field.schema { true } else { false }
        }
        var schema: Schema {
            if case .nullable(let schema) = field.schema { schema } else { field.schema }
        }
        /// Whether the field distinguishes `null` from a missing field.
        var hasNull: Bool { isNullable && field.fallback.map { !$0.isNull } ?? false }

        func isWithin(_ name: String) -> Bool { self.name == name || self.name.hasPrefix("\(name).") }

        /// Whether the field is shown as a checkbox.
        var isBox: Bool {
            if case .boolean = field.schema { true } else { false }
        }
    }

    /// A mistake in a form's values: the message, and the path of the wrong field, or `nil` if no single field is
    /// wrong.
    typealias Fault = (path: String?, message: String)

    /// A section of the form. `names` lists the section's fields, or objects that contain them. A field belongs to the
    /// first section that names it.
    typealias Section = (title: String?, isFolded: Bool, names: [String])

    let leaves: [Leaf]
    /// The present values of the object's fields; `nil` if the form is for a new object.
    let values: JSONObject?
    /// The values that the object's fields had when the form was made, before the user filled it in.
    private let earlier: JSONObject?
    let sent: Form?
    var faults: [Fault] = []
    /// Labels for fields, by the fields' names. A field without a label here is labelled with its name in words.
    var labels: [String: String] = [:]
    /// The values that the form suggests for a field, or the names that it suggests for the members of a map. The key
    /// is the field's name.
    var offers: [String: [Option]] = [:]
    /// The names of fields that take only the values that the form offers.
    var closed: Set<String> = []
    /// The URL that a script asks for suggestions while the user types into the field `account`.
    var search: String?

    private static let earlierName = "earlier"

    /// Makes a form of the fields for which `isShown` returns `true`. If `values` is `nil`, the form is for a new
    /// object.
    init(_ schema: Schema, values: JSONObject? = nil, sent: Form? = nil, _ isShown: (Leaf) -> Bool) {
        self.values = values
        self.sent = sent
        earlier = sent?[SchemaForm.earlierName].flatMap { try? JSONValue(parsing: $0, limits: .answer) }?.object
        leaves = SchemaForm.leaves(schema, []).filter(isShown)
    }

    private static func leaves(_ schema: Schema, _ path: [String]) -> [Leaf] {
        schema.fields.flatMap { field -> [Leaf] in
            let leaf = Leaf(path: path + [field.name], field: field)
            return leaf.schema.fields.isEmpty ? [leaf] : leaves(leaf.schema, leaf.path)
        }
    }

    // MARK: - Input

    private struct Unreadable: Error { let message: String }

    /// Returns the values that the user has entered: a JSON Merge Patch, or a whole object if the form is for a new
    /// one. For each input that should be JSON and isn't, an error message is added to the form's mistakes.
    mutating func patch() -> JSONObject {
        var patch = JSONObject()
        guard let sent else { return patch }
        for leaf in leaves {
            do throws(Unreadable) {
                if let value = try input(leaf, sent) { patch.set(value, at: leaf.path[...]) }
            } catch { faults.append((path: "$.\(leaf.name)", message: error.message)) }
        }
        return patch
    }

    /// Returns the value that the user has entered into a field; `nil` if the field is unchanged.
    private func input(_ leaf: Leaf, _ sent: Form) throws(Unreadable) -> JSONValue? {
        if let inner = rowSchema(leaf) { return SchemaForm.rows(leaf, inner, sent) }
        if values == nil, leaf.hasNull, sent["\(leaf.control).null"] != nil { return .null }
        guard isChanged(leaf, sent) else { return nil }
        let value = try SchemaForm.value(of: leaf, sent[leaf.control])
        return value.isNull && values == nil ? nil : value
    }

    /// Adds an error message to the form's mistakes for each field that both the user and somebody else have changed
    /// since the form was made.
    mutating func findConflicts() {
        guard let sent, let earlier, let values else { return }
        for leaf in leaves where isChanged(leaf, sent) {
            let (before, now) = (SchemaForm.text(of: leaf, in: earlier), SchemaForm.text(of: leaf, in: values))
            guard before != now, sent[leaf.control].map(SchemaForm.normalized) != now else { continue }
            let shown = now.isEmpty ? "nothing" : ShownText.plain(now)
            let message = "somebody else has changed this field to \(shown): save again to overwrite that change"
            faults.append((path: "$.\(leaf.name)", message: message))
        }
    }

    private func isChanged(_ leaf: Leaf, _ sent: Form) -> Bool {
        let input = sent[leaf.control]
        if leaf.isBox { return (input != nil) != SchemaForm.flag(of: leaf, in: earlier ?? values) }
        guard let input else { return false }
        let before = (earlier ?? values).map { SchemaForm.text(of: leaf, in: $0) } ?? SchemaForm.initial(leaf)
        return SchemaForm.normalized(input) != SchemaForm.normalized(before)
    }

    private static func value(of leaf: Leaf, _ input: String?) throws(Unreadable) -> JSONValue {
        if leaf.isBox { return .bool(input != nil) }
        let text = normalized(input ?? "")
        guard !text.isEmpty else { return .null }
        switch leaf.schema {
        case .text, .choice, .either(_, .choice): return .string(text)
        case .boolean: return .bool(text == "true")
        // A text that isn't a number is refused with a sentence about the field.
        case .integer, .number:
            let digits = text.filter { !$0.isWhitespace }
            if let whole = Int64(digits) { return .integer(whole) }
            return Double(digits).flatMap { $0.isFinite ? .number($0) : nil } ?? .string(text)
        case .set(of: .text), .set(of: .choice):
            let lines = text.split(separator: "\n").map { $0.drop { $0 == " " } }.filter { !$0.isEmpty }
            return .array(lines.map { .string(String($0)) })
        case .any: return read(text)
        default:
            do { return try JSONValue(parsing: text) } catch {
                throw Unreadable(message: "the value can't be read as JSON: \(error)")
            }
        }
    }

    /// Parses a text as JSON. A text that isn't JSON is returned as a string.
    private static func read(_ text: String) -> JSONValue {
        (try? JSONValue(parsing: Array(text.utf8), limits: .control)) ?? .string(text)
    }

    /// Checks the values that the user has entered into the form, which are in `patch`. For each value that the schema
    /// doesn't allow, an error message is added to the form's mistakes.
    mutating func check(_ patch: JSONObject, against schema: Schema) {
        let kept = JSONObject(patch.members.filter { !$0.value.isNull }.map { ($0.key, $0.value) })
        faults += schema.issues(in: LocatedJSON(.object(kept), file: "form")).map { ($0.path, $0.message) }
    }

    // MARK: - Maps

    /// The number of rows that the form has for the members of a map.
    private static let rowCount = 4

    /// Returns the schema of a map's values if the form shows the map as rows of a name and a value. Returns `nil` for
    /// all other fields.
    private func rowSchema(_ leaf: Leaf) -> Schema? {
        guard offers[leaf.member] != nil, case .map(let inner) = leaf.schema else { return nil }
        return inner
    }

    /// Returns the members of a map as they were entered. If the map may contain any JSON, a value is parsed as JSON,
    /// and an empty value becomes `null`.
    private static func rows(_ leaf: Leaf, _ inner: Schema, _ sent: Form) -> JSONValue? {
        let isAny = if case .any = inner { true } else { false }
        var members = JSONObject()
        for number in 1...rowCount {
            guard let key = sent["\(leaf.control).\(number)"], !key.isEmpty else { continue }
            let text = sent["\(leaf.control).\(number).value"] ?? ""
            members[key] = !isAny ? .string(text) : text.isEmpty ? .null : read(text)
        }
        return members.isEmpty ? nil : .object(members)
    }

    // MARK: - Texts of values

    /// Returns the text that the form's control shows for a field of `object`.
    private static func text(of leaf: Leaf, in object: JSONObject) -> String {
        guard let value = object.value(at: leaf.path), !value.isNull else { return "" }
        switch (leaf.schema, value) {
        case (.text, .string(let text)), (.choice, .string(let text)): return text
        case (.set(of: .text), .array(let items)), (.set(of: .choice), .array(let items)):
            return items.compactMap(\.string).joined(separator: "\n")
        case (_, .array(let items)) where items.isEmpty: return ""
        case (_, .object(let members)) where members.isEmpty: return ""
        default: return value.text
        }
    }

    private static func flag(of leaf: Leaf, in object: JSONObject?) -> Bool {
        object?.value(at: leaf.path)?.bool ?? leaf.field.fallback?.bool ?? false
    }

    /// Returns the text that a control shows in the form for a new object. A choice shows its default, and other
    /// controls are empty, which means the default.
    private static func initial(_ leaf: Leaf) -> String {
        if case .choice = leaf.schema, !leaf.isNullable { return leaf.field.fallback?.string ?? "" }
        return ""
    }

    /// Returns a text for comparisons with what browsers send: without carriage returns, and with U+FFFD in place of
    /// NUL.
    private static func normalized(_ text: String) -> String {
        var output = ""
        for scalar in text.unicodeScalars where scalar != "\r" {
            output.unicodeScalars.append(scalar.value == 0 ? "\u{FFFD}" : scalar)
        }
        return output
    }

    /// Returns the text that a form field shows: the text that the user has entered if the user has changed the field,
    /// or else the present value.
    private func shown(_ leaf: Leaf) -> String {
        if let sent, isChanged(leaf, sent), let input = sent[leaf.control] { return input }
        return values.map { SchemaForm.text(of: leaf, in: $0) } ?? SchemaForm.initial(leaf)
    }

    private func isChecked(_ leaf: Leaf) -> Bool {
        if let sent, isChanged(leaf, sent) { return sent[leaf.control] != nil }
        return SchemaForm.flag(of: leaf, in: values)
    }

    // MARK: - Faults

    /// Returns the messages about mistakes in a field's value, including those in values nested in it.
    private func faults(of leaf: Leaf) -> [String] { faults.filter { isAbout(leaf, $0) }.map(\.message) }

    private func isAbout(_ leaf: Leaf, _ fault: Fault) -> Bool {
        guard let path = fault.path, path.hasPrefix("$.\(leaf.name)") else { return false }
        return path.dropFirst(2 + leaf.name.count).first.map { $0 == "[" || $0 == "." } ?? true
    }

    /// The messages about mistakes that are in none of the form's fields.
    private var otherFaults: [String] {
        faults.filter { fault in !leaves.contains { isAbout($0, fault) } }.map { fault in
            fault.path.map { $0 == "$" ? fault.message : "\($0): \(fault.message)" } ?? fault.message
        }
    }

    /// The first mistake in the form, for the response header that says why the form is shown again; `nil` if there is
    /// no mistake.
    var diagnosis: Diagnosis? {
        faults.first.map { CallRefusal(status: 400, message: $0.message, path: $0.path).diagnosis }
    }
}

extension JSONObject {
    fileprivate func value(at path: [String]) -> JSONValue? {
        path.dropFirst().reduce(path.first.flatMap { self[$0] }) { $0?[$1] }
    }

    fileprivate mutating func set(_ value: JSONValue, at path: ArraySlice<String>) {
        guard let first = path.first else { return }
        guard path.count > 1 else { return self[first] = value }
        var inner = self[first]?.object ?? JSONObject()
        inner.set(value, at: path.dropFirst())
        self[first] = .object(inner)
    }
}

// The HTML of a form.

extension SchemaForm {
    /// Returns the HTML before the form's controls. A hidden field has the present values, by which changes are
    /// recognized later. If the form has mistakes, a note says so.
    private var start: [HTML] {
        var parts = values.map { [HTML.hidden(SchemaForm.earlierName, JSONValue.object($0).text)] } ?? []
        guard !faults.isEmpty else { return parts }
        let others = otherFaults
        let count = faults.count - others.count
        let place =
            count == 0 ? [] : [count == 1 ? "One field has an invalid value." : "\(count) fields have invalid values."]
        parts.append(
            .of(
                "div.note.bad", ["role": "alert"], .of("strong", "Nothing was changed. "),
                .group((place + others).map { .of("span", ShownText.isolated($0, limit: 600), " ") })))
        return parts
    }

    /// Returns the controls of all fields in their sections. Fields that no section names come last.
    func controls(_ sections: [Section]) -> [HTML] {
        var rest = leaves
        let parts = (sections + [(nil, false, rest.map(\.name))]).compactMap { section -> HTML? in
            var controls: [HTML] = []
            var isOpen = false
            for name in section.names {
                for leaf in rest where leaf.isWithin(name) {
                    // Under the heading of an object the member's own name is enough.
                    let depth = leaf.name == name ? leaf.path.count - 1 : name.split(separator: ".").count
                    controls.append(control(leaf, leaf.path.dropFirst(depth).joined(separator: " ")))
                    isOpen = isOpen || !faults(of: leaf).isEmpty || values == nil && isFilled(leaf)
                }
                rest.removeAll { $0.isWithin(name) }
            }
            guard !controls.isEmpty else { return nil }
            let fields = HTML.of("div.fields", .group(controls))
            guard let title = section.title else { return .of("div.card", fields) }
            return section.isFolded
                ? .of("details.card", ["open": isOpen], .of("summary", .of("strong", .text(title))), fields)
                : .of("fieldset", .of("legend", .text(title)), fields)
        }
        return start + parts
    }

    private func isFilled(_ leaf: Leaf) -> Bool {
        guard let sent else { return false }
        do { return try input(leaf, sent) != nil } catch { return true }
    }

    /// Returns the name of a field in words: `shareEmail` becomes "Share email".
    static func words(_ name: String) -> String {
        let parts = name.replacing(#/([a-z0-9])([A-Z])/#) { "\($0.1) \($0.2)" }.split { " _.".contains($0) }
        return parts.map { part in
            ["id", "url", "uri", "jwt"].contains(part.lowercased()) || part.allSatisfy(\.isUppercase)
                ? part.uppercased() : part.lowercased()
        }.joined(separator: " ").capitalizedFirst
    }

    private func control(_ leaf: Leaf, _ name: String) -> HTML {
        let (id, faults) = (leaf.control, faults(of: leaf))
        let label = labels[leaf.member] ?? SchemaForm.words(name)
        let common: Attributes = [
            "id": id, "aria-describedby": "\(id)-about" + (faults.isEmpty ? "" : " \(id)-fault"),
            "aria-invalid": faults.isEmpty ? nil : "true",
        ]
        // Some labels say all.
        let isSaid = leaf.field.about.lowercased() == "\(label.lowercased())."
        let about = HTML.of("p.soft.small", ["id": "\(id)-about", "hidden": isSaid], .prose(leaf.field.about))
        let notes = faults.map { HTML.of("p.error.small", ShownText.isolated($0, limit: 600)) }
        let fault = notes.isEmpty ? nil : HTML.of("div", ["id": "\(id)-fault"], .group(notes))
        if leaf.isBox {
            let box = common.after(["type": "checkbox", "name": id, "value": "on", "checked": isChecked(leaf)])
            return .of(
                "div.people-field", .of("label.choice", .of("input", box), .of("strong", .text(label))), about, fault)
        }
        if rowSchema(leaf) != nil {
            return .of(
                "div.people-field.people-wide", ["role": "group", "aria-label": label], .of("strong", .text(label)),
                about, fault,
                rows(leaf, label))
        }
        let (input, isWide) = input(leaf, common)
        let everyTime = HTML.choice("Every time", "\(id).null", isChosen: sent?["\(id).null"] != nil)
        return .of(
            "div.people-field\(isWide ? ".people-wide" : "")", .of("label", .of("span", .text(label)), input), about,
            fault,
            leaf.hasNull && values == nil ? everyTime : nil)
    }

    private func rows(_ leaf: Leaf, _ label: String) -> HTML {
        let list = "options-\(leaf.control)"
        let rows = (1...SchemaForm.rowCount).map { number -> HTML in
            let name = "\(leaf.control).\(number)"
            return .of(
                "div.orders-row",
                .input(
                    name, sent?[name] ?? "",
                    ["list": list, "aria-label": "\(label): name \(number)", "placeholder": "name"]),
                .input(
                    "\(name).value", sent?["\(name).value"] ?? "",
                    ["aria-label": "\(label): value \(number)", "placeholder": "value"]))
        }
        return .group(rows + [.of("datalist", ["id": list], .options(offers[leaf.member] ?? []))])
    }

    private func input(_ leaf: Leaf, _ common: Attributes) -> (html: HTML, isWide: Bool) {
        let (name, text, offered) = (leaf.control, shown(leaf), offers[leaf.member])
        func select(_ options: [Option]) -> (html: HTML, isWide: Bool) {
            let hasNone = leaf.isNullable || !leaf.field.isRequired && leaf.field.fallback?.string == nil
            return (.select(name, (hasNone ? [("", "not said")] : []) + options, chosen: text, common), false)
        }
        switch leaf.schema {
        case .boolean: return select(offered ?? [("true", "yes"), ("false", "no")])
        case .choice(let names), .either(_, .choice(let names)):
            return select(offered ?? names.map { ($0, SchemaForm.words($0).lowercased()) })
        case .text, .integer, .number:
            if let offered, closed.contains(leaf.member) { return select(offered) }
            let fallback = leaf.field.fallback.flatMap { $0.isNull ? nil : $0.string ?? $0.text }
            let isWhole = if case .integer = leaf.schema { true } else { false }
            let list = offered.map { _ in "options-\(name)" }
            let input = HTML.input(
                name, text,
                common.after([
                    "inputmode": isWhole ? "numeric" : nil, "required": leaf.field.isRequired, "placeholder": fallback,
                    "dir": "auto", "list": list, "data-search": leaf.name == "account" ? search : nil,
                ]))
            return (.group([input] + (offered.map { [.of("datalist", ["id": list], .options($0))] } ?? [])), false)
        case .set(of: .text), .set(of: .choice):
            return (.textarea(name, text, rows: 3, common.after(["placeholder": "one a line"])), false)
        default:
            let isAny = if case .any = leaf.schema { true } else { false }
            let hint = isAny ? "a text, or JSON" : "JSON"
            return (.textarea(name, text, rows: isAny ? 3 : 5, common.after(["placeholder": hint])), true)
        }
    }
}
