/// Writes the documentation of a schema in Markdown: a table for each JSON object, with the name, value, default and
/// meaning of every member.
package struct SchemaReference {
    /// The titles of the tables that have been written. The keys are the tables in Markdown. If a later object has the
    /// same table, its documentation refers to the title, and doesn't repeat the table.
    private var known: [String: String] = [:]
    private var sections: [String] = []
    /// All JSON objects that have been found so far, in the order in which they are documented. Objects stay in this
    /// list after they have been documented.
    private var waiting: [(title: String, members: Schema.Members)] = []

    /// Returns the documentation of a schema in Markdown. `root` is the title of the outermost object.
    package static func markdown(_ schema: Schema, root: String) -> String {
        guard case .object(let members) = schema else { return "" }
        var reference = SchemaReference()
        reference.waiting = [(title: root, members: members)]
        var told = 0
        while told < reference.waiting.count {
            let next = reference.waiting[told]
            reference.addSection(for: next.members, as: next.title, isRoot: told == 0)
            told += 1
        }
        return reference.sections.joined(separator: "\n")
    }

    private mutating func addSection(for members: Schema.Members, as title: String, isRoot: Bool) {
        let place = isRoot ? "" : title
        let rows = members.listed.map { field in
            let value = SchemaReference.value(field.schema)
            let fallback = field.fallback.map { "`\($0.text)`" } ?? (field.isRequired ? "required" : "")
            return "| `\(field.name)` | \(SchemaReference.cell(value)) | \(SchemaReference.cell(fallback)) | "
                + "\(SchemaReference.cell(field.about)) |\n"
        }
        let table = "| member | value | default | meaning |\n|---|---|---|---|\n" + rows.joined()
        let heading = isRoot ? "## \(title)\n\n" : "## `\(title)`\n\n"
        if let earlier = known[table] {
            sections.append(heading + "The same members as `\(earlier)`.\n")
            return
        }
        known[table] = title
        sections.append(heading + table)
        for field in members.listed {
            wait(for: field.schema, at: place.isEmpty ? field.name : "\(place).\(field.name)")
        }
    }

    private mutating func wait(for schema: Schema, at place: String) {
        switch schema {
        case .object(let members): waiting.append((title: place, members: members))
        case .list(let element, _), .sequence(let element): wait(for: element, at: "\(place)[]")
        case .map(let element): wait(for: element, at: "\(place).*")
        case .nullable(let schema): wait(for: schema, at: place)
        case .either(let first, let second):
            wait(for: first, at: place)
            wait(for: second, at: place)
        case .text, .integer, .boolean, .choice, .set, .any, .number: break
        }
    }

    private static func value(_ schema: Schema) -> String {
        switch schema {
        case .list(let element, let key): "a list of \(plural(element)), told apart by `\(key)`"
        case .set(let element): "a list, each at most once, of \(plural(element))"
        case .sequence(let element): "a list of \(plural(element))"
        case .map(let element): "an object with members of any name: \(value(element))"
        case .nullable(let schema): "\(value(schema)), or null"
        case .choice(let names): names.map { "`\"\($0)\"`" }.joined(separator: ", ")
        default: schema.expectation
        }
    }

    private static func plural(_ schema: Schema) -> String {
        switch schema {
        case .object: "objects"
        default: "values, each \(value(schema))"
        }
    }

    private static func cell(_ text: String) -> String {
        text.split(separator: "|", omittingEmptySubsequences: false).joined(separator: "\\|")
    }
}
