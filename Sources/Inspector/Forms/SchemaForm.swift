import EmulatorCore
import HTTPServer
import JSON

/// A form for an object, made from its schema: a control for each field, with what the field means. It says what the person
/// who filled it in has changed, so that what others have changed in the meantime stays.
struct SchemaForm: Sendable {
    /// A field that has a control: its way from the object, and how it is declared.
    struct Leaf: Sendable {
        let path: [String]
        let field: Schema.Field

        /// As issues name it, without `$.`, and as the form does.
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

    /// What is wrong with an input, and at which path; `nil` where it is about no field.
    typealias Fault = (path: String?, message: String)

    let groups: [Group]
    /// What the fields hold now; nothing, for something new.
    let values: JSONObject?
    /// What they held when the form was made that has been sent.
    private(set) var earlier: JSONObject?
    private(set) var sent: Form?
    var faults: [Fault] = []
    /// The ID of a form field is its name behind this.
    private static let prefix = "field."
    private static let earlierName = "earlier"

    /// Without `values` it is for something new. `fixed` is the field that never changes: only a new object has it.
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

    // MARK: - What was sent

    /// What the form changes, as a JSON Merge Patch, or all of a new object. Inputs that are no JSON where JSON is due are
    /// faults.
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

    /// Notes as faults what both this form and somebody else have changed since it was made.
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

    /// Whether the input differs from what the form was made with.
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
        // What is no number is refused with a sentence about the field.
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

    /// Notes what in `patch` the schema doesn't allow, besides what it removes.
    mutating func check(_ patch: JSONObject, against schema: Schema) {
        let kept = JSONObject(patch.members.filter { !$0.value.isNull }.map { ($0.key, $0.value) })
        let json = LocatedJSON(.object(kept), file: "form")
        faults += schema.issues(in: json).map { (path: $0.path, message: $0.message) }
    }

    // MARK: - Texts of values

    /// What the control shows of a value.
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

    /// What a control of a new object holds: choices say their default, other defaults are what an empty field means.
    private static func initial(_ leaf: Leaf) -> String {
        if case .choice = leaf.schema, !leaf.isNullable { return leaf.field.fallback?.string ?? "" }
        return ""
    }

    /// As browsers send it: lines end with CR and LF, a zero has become U+FFFD.
    private static func normalized(_ text: String) -> String {
        var output = ""
        for scalar in text.unicodeScalars where scalar != "\r" {
            output.unicodeScalars.append(scalar.value == 0 ? "\u{FFFD}" : scalar)
        }
        return output
    }

    /// What the control of a field shows: the input, if it was changed there, or what holds.
    func shown(_ leaf: Leaf) -> String {
        if let sent, isChanged(leaf, sent), let input = sent[SchemaForm.prefix + leaf.name] { return input }
        return values.map { SchemaForm.text(of: leaf, in: $0) } ?? SchemaForm.initial(leaf)
    }

    func isChecked(_ leaf: Leaf) -> Bool {
        if let sent, isChanged(leaf, sent) { return sent[SchemaForm.prefix + leaf.name] != nil }
        return SchemaForm.flag(of: leaf, in: values)
    }

    // MARK: - Faults

    /// The faults of a field, those of values within it included.
    func faults(of leaf: Leaf) -> [String] { faults.filter { isAbout(leaf, $0) }.map(\.message) }

    private func isAbout(_ leaf: Leaf, _ fault: Fault) -> Bool {
        guard let path = fault.path, path.hasPrefix("$.\(leaf.name)") else { return false }
        return path.dropFirst(2 + leaf.name.count).first.map { $0 == "[" || $0 == "." } ?? true
    }

    /// Those that belong to no field.
    var otherFaults: [String] {
        faults.filter { fault in !leaves.contains { isAbout($0, fault) } }.map { fault in
            fault.path.map { $0 == "$" ? fault.message : "\($0): \(fault.message)" } ?? fault.message
        }
    }

    /// The name of a field's control.
    static func controlName(_ leaf: Leaf) -> String { prefix + leaf.name }

    /// What holds now, for the next answer.
    var memory: HTML {
        values.map { HTML.hidden(SchemaForm.earlierName, JSONValue.object($0).text) } ?? .group([])
    }
}

extension JSONObject {
    func value(at path: [String]) -> JSONValue? {
        path.dropFirst().reduce(path.first.flatMap { self[$0] }) { $0?[$1] }
    }

    /// Ways have one or two steps.
    fileprivate mutating func set(_ value: JSONValue, at path: [String]) {
        guard let first = path.first else { return }
        guard path.count > 1 else { return self[first] = value }
        var inner = self[first]?.object ?? JSONObject()
        inner[path[1]] = value
        self[first] = .object(inner)
    }
}
