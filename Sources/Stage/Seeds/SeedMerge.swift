import JOSE

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
            for addition in additions {
                let identifier = addition[key]?.value
                if identifier != nil, let place = items.firstIndex(where: { $0[key]?.value == identifier }) {
                    items[place] = shape.merge(items[place], addition)
                } else {
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
            let known = items.map(\.value)
            merged.content = .list(items + additions.filter { !known.contains($0.value) })
            return merged
        default:
            return later
        }
    }

    private func overlay(
        _ earlier: SeedNode, _ members: [(key: String, value: SeedNode)], shape: (String) -> Shape?
    ) -> SeedNode {
        var merged = earlier
        for member in members {
            if let present = merged[member.key], let shape = shape(member.key) {
                merged[member.key] = shape.merge(present, member.value)
            } else {
                merged[member.key] = member.value
            }
        }
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
