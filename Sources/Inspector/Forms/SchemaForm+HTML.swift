import EmulatorCore
import JSON

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
