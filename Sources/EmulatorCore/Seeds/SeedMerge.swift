import JSON

extension Shape {
    /// `later` laid over `earlier`: objects member by member, lists by their identifying key, scalars replaced.
    package func merge(_ earlier: SeedNode, _ later: SeedNode) -> SeedNode {
        switch (self, earlier.content, later.content) {
        case (.nullable(let shape), _, _):
            return shape.merge(earlier, later)
        case (.object(let fields), .object, .object(let members)):
            return overlay(earlier, members) { key in fields.first { $0.name == key }?.shape }
        case (.map(let shape), .object, .object(let members)):
            return overlay(earlier, members) { _ in shape }
        case (.list(let shape, let key), .list(var items), .list(let additions)):
            var places: [String: Int] = [:]
            for (place, item) in items.enumerated() {
                if let identifier = item[key]?.value.text, places[identifier] == nil { places[identifier] = place }
            }
            for addition in additions {
                let identifier = addition[key]?.value.text
                if let place = identifier.flatMap({ places[$0] }) {
                    items[place] = shape.merge(items[place], addition)
                } else {
                    if let identifier { places[identifier] = items.count }
                    items.append(addition)
                }
            }
            var merged = earlier
            merged.content = .list(items)
            return merged
        case (.sequence, .list(let items), .list(let additions)):
            var merged = earlier
            merged.content = .list(items + additions)
            return merged
        case (.set, .list(let items), .list(let additions)):
            var merged = earlier
            let known = Set(items.map(\.value.text))
            merged.content = .list(items + additions.filter { !known.contains($0.value.text) })
            return merged
        default:
            return later
        }
    }

    private func overlay(
        _ earlier: SeedNode, _ members: [(key: String, value: SeedNode)], shape: (String) -> Shape?
    ) -> SeedNode {
        guard case .object(var all) = earlier.content else { return earlier }
        var places = Dictionary(all.enumerated().map { ($1.key, $0) }, uniquingKeysWith: { first, _ in first })
        for member in members {
            if let place = places[member.key] {
                all[place].value = shape(member.key)?.merge(all[place].value, member.value) ?? member.value
            } else {
                places[member.key] = all.count
                all.append(member)
            }
        }
        var merged = earlier
        merged.content = .object(all)
        return merged
    }

    /// `value` with every missing member that has a default filled in, at every depth.
    package func completed(_ value: JSONValue) -> JSONValue {
        switch (self, value) {
        case (.nullable(let shape), _): value.isNull ? value : shape.completed(value)
        case (.object(let fields), .object(let object)): .object(complete(object, fields))
        case (.list(let shape, _), .array(let items)), (.sequence(let shape), .array(let items)):
            .array(items.map { shape.completed($0) })
        case (.map(let shape), .object(let object)):
            .object(JSONObject(object.members.map { ($0.key, shape.completed($0.value)) }))
        default: value
        }
    }

    private func complete(_ object: JSONObject, _ fields: [Field]) -> JSONObject {
        var object = object
        for field in fields {
            if let value = object[field.name] ?? field.fallback { object[field.name] = field.shape.completed(value) }
        }
        return object
    }
}
