import EmulatorCore
import HTTPServer
import JSON

/// A form for an object, made from its schema: a control for each field, with the field's meaning. It submits only the
/// fields that the person has changed, so that changes by others in the meantime stay.
struct SchemaForm: Sendable {
    /// A field that has a control: its path in the object, and its declaration.
    struct Leaf: Sendable {
        let path: [String]
        let field: Schema.Field

        /// The name in issues, without `$.`, and in the form.
        var name: String { path.joined(separator: ".") }
        var isNullable: Bool {
            if case .nullable = field.schema { true } else { false }
        }
        var schema: Schema {
            if case .nullable(let schema) = field.schema { schema } else { field.schema }
        }
    }

    /// A field of the object itself, or those of one of its members, in the order of the schema.
    struct Group: Sendable {
        let name: String?
        let leaves: [Leaf]
    }

    /// An issue with an input, and the path of its field; `nil` if it has none.
    typealias Fault = (path: String?, message: String)

    let groups: [Group]
    /// The present values of the fields; `nil` for a new object.
    let values: JSONObject?
    /// The values of the fields when the form was made that has been sent.
    private(set) var earlier: JSONObject?
    private(set) var sent: Form?
    var faults: [Fault] = []
    /// The prefix of a control's name, before the name of its field.
    private static let prefix = "field."
    private static let earlierName = "earlier"

    /// Makes a form; without `values`, for a new object. `fixed` is the field that can't be changed: only a new object
    /// has it.
    init(_ schema: Schema, values: JSONObject?, fixed: String, sent: Form? = nil) {
        self.values = values
        self.sent = sent
        earlier = sent?[SchemaForm.earlierName].flatMap { try? JSONValue(parsing: $0, limits: .answer) }?.object
        groups = SchemaForm.groups(schema) { values == nil || $0 != fixed }
    }

    private static func groups(_ schema: Schema, _ isShown: (String) -> Bool) -> [Group] {
        guard case .object(let members) = schema else { return [] }
        return members.fields.filter { isShown($0.name) }.map { field in
            guard case .object(let inner) = field.schema else {
                return Group(name: nil, leaves: [Leaf(path: [field.name], field: field)])
            }
            let leaves = inner.fields.map { Leaf(path: [field.name, $0.name], field: $0) }
            return Group(name: field.name, leaves: leaves)
        }
    }

    private var leaves: [Leaf] { groups.flatMap(\.leaves) }

    // MARK: - Input

    /// Returns the form's changes, as a JSON Merge Patch, or a whole new object. Inputs that should be JSON and aren't
    /// are faults.
    mutating func patch() -> JSONObject {
        guard let sent else { return JSONObject() }
        var patch = JSONObject()
        for leaf in leaves where isChanged(leaf, sent) {
            do throws(Unreadable) {
                let value = try SchemaForm.value(of: leaf, sent[SchemaForm.prefix + leaf.name])
                if value.isNull, values == nil { continue }
                patch.set(value, at: leaf.path)
            } catch { faults.append((path: "$.\(leaf.name)", message: error.message)) }
        }
        return patch
    }

    /// Adds faults for fields that both this form and another person have changed since it was made.
    mutating func findConflicts() {
        guard let sent, let earlier, let values else { return }
        for leaf in leaves where isChanged(leaf, sent) {
            let (before, now) = (SchemaForm.text(of: leaf, in: earlier), SchemaForm.text(of: leaf, in: values))
            guard before != now, sent[SchemaForm.prefix + leaf.name].map(SchemaForm.normalized) != now else { continue }
            let shown = now.isEmpty ? "nothing" : ShownText.plain(now)
            faults.append(
                (
                    path: "$.\(leaf.name)",
                    message: "somebody else has changed it to \(shown) since: save again to replace that"
                ))
        }
    }

    /// Whether the input differs from the value with which the form was made.
    private func isChanged(_ leaf: Leaf, _ sent: Form) -> Bool {
        let input = sent[SchemaForm.prefix + leaf.name]
        if case .boolean = leaf.schema, !leaf.isNullable {
            return (input != nil) != SchemaForm.flag(of: leaf, in: earlier ?? values)
        }
        guard let input else { return false }
        let before = (earlier ?? values).map { SchemaForm.text(of: leaf, in: $0) } ?? SchemaForm.initial(leaf)
        return SchemaForm.normalized(input) != SchemaForm.normalized(before)
    }

    private struct Unreadable: Error { let message: String }

    private static func value(of leaf: Leaf, _ input: String?) throws(Unreadable) -> JSONValue {
        if case .boolean = leaf.schema, !leaf.isNullable { return .bool(input != nil) }
        let text = normalized(input ?? "")
        guard !text.isEmpty else { return .null }
        switch leaf.schema {
        case .text, .choice: return .string(text)
        case .boolean: return .bool(text == "true")
        // A text that isn't a number is refused with a sentence about the field.
        case .integer: return Int64(text).map { .integer($0) } ?? .string(text)
        case .set(of: .text), .set(of: .choice):
            let lines = text.split(separator: "\n").map { $0.drop { $0 == " " } }.filter { !$0.isEmpty }
            return .array(lines.map { .string(String($0)) })
        default:
            do { return try JSONValue(parsing: text) } catch {
                throw Unreadable(message: "this can't be read as JSON: \(error)")
            }
        }
    }

    /// Adds faults for the values in `patch` that the schema doesn't allow.
    mutating func check(_ patch: JSONObject, against schema: Schema) {
        let kept = JSONObject(patch.members.filter { !$0.value.isNull }.map { ($0.key, $0.value) })
        let json = LocatedJSON(.object(kept), file: "form")
        faults += schema.issues(in: json).map { (path: $0.path, message: $0.message) }
    }

    // MARK: - Texts of values

    /// Returns the text of a value in its control.
    static func text(of leaf: Leaf, in object: JSONObject) -> String {
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

    /// Returns the text of a new object's control: choices show their default; for other fields, empty means the
    /// default.
    private static func initial(_ leaf: Leaf) -> String {
        if case .choice = leaf.schema, !leaf.isNullable { return leaf.field.fallback?.string ?? "" }
        return ""
    }

    /// Returns a text in the form in which browsers send it: lines end with CR and LF, a zero has become U+FFFD.
    private static func normalized(_ text: String) -> String {
        var output = ""
        for scalar in text.unicodeScalars where scalar != "\r" {
            output.unicodeScalars.append(scalar.value == 0 ? "\u{FFFD}" : scalar)
        }
        return output
    }

    /// Returns the text in the control of a field: the input, if the person changed it, or the present value.
    func shown(_ leaf: Leaf) -> String {
        if let sent, isChanged(leaf, sent), let input = sent[SchemaForm.prefix + leaf.name] { return input }
        return values.map { SchemaForm.text(of: leaf, in: $0) } ?? SchemaForm.initial(leaf)
    }

    func isChecked(_ leaf: Leaf) -> Bool {
        if let sent, isChanged(leaf, sent) { return sent[SchemaForm.prefix + leaf.name] != nil }
        return SchemaForm.flag(of: leaf, in: values)
    }

    // MARK: - Faults

    /// Returns the faults of a field, with those of values within it.
    func faults(of leaf: Leaf) -> [String] { faults.filter { isAbout(leaf, $0) }.map(\.message) }

    private func isAbout(_ leaf: Leaf, _ fault: Fault) -> Bool {
        guard let path = fault.path, path.hasPrefix("$.\(leaf.name)") else { return false }
        return path.dropFirst(2 + leaf.name.count).first.map { $0 == "[" || $0 == "." } ?? true
    }

    /// The faults that belong to no field.
    var otherFaults: [String] {
        faults.filter { fault in !leaves.contains { isAbout($0, fault) } }.map { fault in
            fault.path.map { $0 == "$" ? fault.message : "\($0): \(fault.message)" } ?? fault.message
        }
    }

    /// Returns the name of a field's control.
    static func controlName(_ leaf: Leaf) -> String { prefix + leaf.name }

    /// A hidden field with the present values, to compare the next input with.
    var memory: HTML {
        values.map { HTML.hidden(SchemaForm.earlierName, JSONValue.object($0).text) } ?? .group([])
    }
}

extension JSONObject {
    func value(at path: [String]) -> JSONValue? {
        path.dropFirst().reduce(path.first.flatMap { self[$0] }) { $0?[$1] }
    }

    /// Sets a value. Paths have one or two names.
    fileprivate mutating func set(_ value: JSONValue, at path: [String]) {
        guard let first = path.first else { return }
        guard path.count > 1 else { return self[first] = value }
        var inner = self[first]?.object ?? JSONObject()
        inner[path[1]] = value
        self[first] = .object(inner)
    }
}

// The HTML of a form that is made from a schema.

extension SchemaForm {
    /// Returns all controls. `titles` are headings of groups, by the names of their members; groups without one are
    /// shown with the object's own fields.
    func controls(titles: [String: String]) -> [HTML] {
        let (own, named) = (
            groups.filter { $0.name.flatMap { titles[$0] } == nil },
            groups.filter { $0.name.flatMap { titles[$0] } != nil }
        )
        let first = HTML.element(
            "div", attributes: [(name: "class", value: "card fields")],
            children: own.flatMap { group in group.leaves.map { control($0) } })
        return [memory, summary, first]
            + named.map { group in
                let isOpen = group.leaves.contains { !faults(of: $0).isEmpty }
                return .tag(
                    "details", [("class", "card")] + (isOpen ? [("open", nil)] : []),
                    .tag(
                        "summary", [], .tag("strong", [], group.name.flatMap { titles[$0] } ?? "")),
                    .element(
                        "div", attributes: [(name: "class", value: "fields people-group")],
                        children: group.leaves.map { control($0, isTitled: true) }))
            }
    }

    /// A note in front of all fields that something is wrong.
    private var summary: HTML {
        guard !faults.isEmpty else { return .group([]) }
        let others = otherFaults
        let count = faults.count - others.count
        let place =
            count == 0 ? [] : [count == 1 ? "One field can't be used as it is." : "\(count) fields can't be used."]
        return .element(
            "div", attributes: [(name: "class", value: "note bad"), (name: "role", value: "alert")],
            children: [.tag("strong", [], "Nothing was changed. ")]
                + (place + others).map { .tag("span", [], ShownText.isolated($0, limit: 600), .text(" ")) })
    }

    private func control(_ leaf: Leaf, isTitled: Bool = false) -> HTML {
        let (id, faults) = (SchemaForm.controlName(leaf), faults(of: leaf))
        var common: [(String, String?)] = [
            ("id", id), ("name", id), ("aria-describedby", "\(id)-about" + (faults.isEmpty ? "" : " \(id)-fault")),
        ]
        if !faults.isEmpty { common.append(("aria-invalid", "true")) }
        // Under a provider's name the member's own name is enough.
        let label = isTitled ? leaf.path.last ?? "" : leaf.name
        let isCheck = if case .boolean = leaf.schema { !leaf.isNullable } else { false }
        let about = HTML.tag("p", [("class", "soft small"), ("id", "\(id)-about")], leaf.field.about)
        let notes = faults.map { HTML.tag("p", [("class", "error small")], ShownText.isolated($0, limit: 600)) }
        let noted = HTML.element("div", attributes: [(name: "id", value: "\(id)-fault")], children: notes)
        let isWide = input(leaf, common).isWide
        return .tag(
            "div", [("class", isWide ? "people-field people-wide" : "people-field")],
            isCheck
                ? .tag("label", [("class", "choice")], input(leaf, common).html, .tag("strong", [], label))
                : .tag("label", [], .tag("span", [], label), input(leaf, common).html),
            about, notes.isEmpty ? .group([]) : noted)
    }

    private func input(_ leaf: Leaf, _ common: [(String, String?)]) -> (html: HTML, isWide: Bool) {
        switch leaf.schema {
        case .boolean where leaf.isNullable: return (select(leaf, common, ["true", "false"]), false)
        case .boolean:
            let checked: [(String, String?)] = isChecked(leaf) ? [("checked", nil)] : []
            return (.tag("input", [("type", "checkbox")] + common + checked), false)
        case .choice(let names): return (select(leaf, common, names), false)
        case .text, .integer, .number:
            var attributes: [(String, String?)] = [("type", "text"), ("value", shown(leaf)), ("autocomplete", "off")]
            if case .integer = leaf.schema { attributes.append(("inputmode", "numeric")) }
            if leaf.field.isRequired { attributes.append(("required", nil)) }
            if let fallback = leaf.field.fallback, !fallback.isNull {
                attributes.append(("placeholder", fallback.string ?? fallback.text))
            }
            return (.tag("input", common + attributes + [("dir", "auto")]), false)
        case .set(of: .text), .set(of: .choice):
            return (.tag("textarea", common + [("rows", "3"), ("placeholder", "one a line")], shown(leaf)), false)
        default:
            return (.tag("textarea", common + [("rows", "5"), ("placeholder", "JSON")], shown(leaf)), true)
        }
    }

    private func select(_ leaf: Leaf, _ common: [(String, String?)], _ names: [String]) -> HTML {
        let shown = shown(leaf)
        let options = ((leaf.isNullable || leaf.field.fallback?.string == nil ? [""] : []) + names).map { name in
            HTML.tag(
                "option", [("value", name)] + (name == shown ? [("selected", nil)] : []),
                name.isEmpty ? "not said" : name)
        }
        return .element("select", attributes: common.map { (name: $0.0, value: $0.1) }, children: options)
    }
}
