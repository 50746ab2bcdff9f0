extension LocatedJSON {
    /// Returns this JSON object with its members replaced by the members of `later`. Members that `later` lacks stay.
    package func replacingMembers(with later: LocatedJSON) -> LocatedJSON {
        guard case .object(let object) = value, case .object = later.value else { return later }
        return Schema.overlay(object, location, later) { _ in nil }
    }
}

extension Schema {
    /// Merges two JSON values: objects member by member, lists of objects by the member that identifies each object,
    /// and other lists by appending. Any other value of `later` replaces that of `earlier`.
    package func merge(_ earlier: LocatedJSON, _ later: LocatedJSON) -> LocatedJSON {
        switch (self, earlier.value, later.value) {
        case (.nullable(let schema), _, _):
            schema.merge(earlier, later)
        case (.object(let known), .object(let object), .object):
            Schema.overlay(object, earlier.location, later) { known[$0]?.schema }
        case (.map(let schema), .object(let object), .object):
            Schema.overlay(object, earlier.location, later) { _ in schema }
        case (.list(let schema, let key), .array, .array):
            schema.mergeElements(earlier, later, by: key)
        case (.sequence, .array, .array):
            Schema.append(later.items, to: earlier)
        case (.set, .array(let items), .array):
            Schema.append(Schema.new(in: later, besides: items), to: earlier)
        default:
            later
        }
    }

    fileprivate static func overlay(
        _ object: JSONObject, _ location: Location, _ later: LocatedJSON, schema: (String) -> Schema?
    ) -> LocatedJSON {
        var object = object
        let earlier = LocatedJSON(.object(object), at: location)
        var location = location
        for (key, value) in later.members {
            let known = earlier[key]
            let merged = known.flatMap { known in schema(key)?.merge(known, value) } ?? value
            object[key] = merged.value
            location.setMember(key, merged.location)
        }
        return LocatedJSON(.object(object), at: location)
    }

    private func mergeElements(_ earlier: LocatedJSON, _ later: LocatedJSON, by key: String) -> LocatedJSON {
        guard case .array(var items) = earlier.value else { return later }
        var location = earlier.location
        var places: [String: Int] = [:]
        for (place, item) in items.enumerated() {
            if let identifier = item[key]?.text, places[identifier] == nil { places[identifier] = place }
        }
        // A list that has an element twice is refused. Merging each into the one before would take quadratic time.
        var added: Set<String> = []
        for addition in later.items {
            let identifier = addition.value[key]?.text
            if let identifier, !added.insert(identifier).inserted { continue }
            if let place = identifier.flatMap({ places[$0] }) {
                let merged = merge(LocatedJSON(items[place], at: location.element(place)), addition)
                items[place] = merged.value
                location.setElement(place, merged.location)
            } else {
                if let identifier { places[identifier] = items.count }
                location.setElement(items.count, addition.location)
                items.append(addition.value)
            }
        }
        return LocatedJSON(.array(items), at: location)
    }

    private static func new(in later: LocatedJSON, besides items: [JSONValue]) -> [LocatedJSON] {
        let known = Set(items.map(\.text))
        return later.items.filter { !known.contains($0.value.text) }
    }

    private static func append(_ additions: [LocatedJSON], to earlier: LocatedJSON) -> LocatedJSON {
        guard case .array(var items) = earlier.value else { return earlier }
        var location = earlier.location
        for addition in additions {
            location.setElement(items.count, addition.location)
            items.append(addition.value)
        }
        return LocatedJSON(.array(items), at: location)
    }

    /// Returns `value` with the defaults of all missing members added, at every depth except within alternatives
    /// (`either`).
    package func completed(_ value: JSONValue) -> JSONValue {
        switch (self, value) {
        case (.nullable(let schema), _): value.isNull ? value : schema.completed(value)
        case (.object(let known), .object(let object)): .object(Schema.complete(object, known))
        case (.list(let schema, _), .array(let items)), (.sequence(let schema), .array(let items)):
            .array(items.map { schema.completed($0) })
        case (.map(let schema), .object(let object)):
            .object(JSONObject(object.members.map { ($0.key, schema.completed($0.value)) }))
        default: value
        }
    }

    private static func complete(_ object: JSONObject, _ known: Members) -> JSONObject {
        var object = object
        for field in known.fields {
            if let value = object[field.name] ?? field.fallback { object[field.name] = field.schema.completed(value) }
        }
        guard let family = known.family else { return object }
        for (name, value) in object.members where name.hasPrefix(family.prefix) {
            object[name] = family.field.schema.completed(value)
        }
        return object
    }
}
