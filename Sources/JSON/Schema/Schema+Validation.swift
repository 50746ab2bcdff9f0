extension Schema {
    /// Validates `json` by this schema, and returns all mistakes in it.
    package func issues(in json: LocatedJSON) -> [Issue] {
        var validation = Validation()
        validation.check(json, self)
        return validation.issues
    }
}

/// A walk through a JSON value that collects the value's mistakes.
private struct Validation {
    private(set) var issues: [Issue] = []
    /// The number of spelling hints that may still be given. Only mistakes that are listed in a message get a hint,
    /// because comparing words costs more than finding the mistake.
    private var hints = Issues.listed

    mutating func check(_ json: LocatedJSON, _ schema: Schema) {
        switch (schema, json.value) {
        case (.nullable, .null), (.boolean, .bool), (.any, _): break
        case (.nullable(let schema), _): checkUnlessNull(json, schema)
        case (.text(let rule), .string(let text)):
            if !rule.holds(text) { mismatch(json, schema) }
        case (.integer(let range), let value):
            if value.integer.map({ range.contains($0) }) != true { mismatch(json, schema) }
        case (.number(let range), let value):
            if value.number.map({ range.contains($0) }) != true { mismatch(json, schema) }
        case (.either(let first, let second), _):
            if !fits(json, first), !fits(json, second) { mismatch(json, schema) }
        case (.choice(let names), .string(let text)):
            guard !names.contains(text) else { break }
            add(json, "found \(json.found), expected \(schema.expectation)\(hint(text, among: names) ?? "")")
        case (.object(let known), .object): checkMembers(of: json, known)
        case (.map(let schema), .object(let object)):
            object.forEach { check(LocatedJSON($1, at: json.location.member($0)), schema) }
        case (.sequence(let schema), .array(let items)): check(items, of: json, schema)
        case (.list(let schema, let key), .array(let items)):
            check(items, of: json, schema)
            checkDuplicates(items.map { $0[key] }, named: key) { json.location.element($0).member(key) }
        case (.set(let schema), .array(let items)):
            check(items, of: json, schema)
            checkDuplicates(items, named: nil) { json.location.element($0) }
        default: mismatch(json, schema)
        }
    }

    private mutating func add(_ json: LocatedJSON, _ message: String) { issues.append(Issue(json, message)) }

    private mutating func mismatch(_ json: LocatedJSON, _ schema: Schema) {
        add(json, "found \(json.found), expected \(schema.expectation)")
    }

    /// Returns a hint with the name that was probably meant by a misspelled word; an empty text if no name is similar,
    /// and `nil` if enough hints have been given already.
    private mutating func hint(_ word: String, among names: [String]) -> String? {
        guard hints > 0 else { return nil }
        hints -= 1
        return Spelling.hint(word, among: names)
    }

    private func fits(_ json: LocatedJSON, _ schema: Schema) -> Bool {
        var trial = Validation()
        trial.check(json, schema)
        return trial.issues.isEmpty
    }

    private mutating func checkUnlessNull(_ json: LocatedJSON, _ schema: Schema) {
        let before = issues.count
        check(json, schema)
        guard issues.count > before else { return }
        let path = json.path
        for place in before..<issues.count
        where issues[place].path == path && issues[place].message.hasPrefix("found ") {
            issues[place] = Issue(json, issues[place].message + ", or null")
        }
    }

    private mutating func check(_ items: [JSONValue], of json: LocatedJSON, _ schema: Schema) {
        for (place, item) in items.enumerated() { check(LocatedJSON(item, at: json.location.element(place)), schema) }
    }

    private mutating func checkMembers(of json: LocatedJSON, _ known: Schema.Members) {
        guard case .object(let object) = json.value else { return }
        object.forEach { key, value in
            let member = LocatedJSON(value, at: json.location.member(key))
            if let field = known[key] {
                check(member, field.schema)
            } else if !known.isOpen {
                let names = known.listed.map(\.name)
                let hint = hint(key, among: names)
                let listed = names.isEmpty ? "; there are none here" : "; known here: " + names.joined(separator: ", ")
                let rest = hint == "" ? listed : hint ?? ""
                add(member, "unknown key \"\(BoundedText.shortened(key, to: 100))\"" + rest)
            }
        }
        for field in known.fields where field.isRequired && object[field.name] == nil {
            add(json, "the key \"\(field.name)\" is missing: expected \(field.schema.expectation)")
        }
    }

    private mutating func checkDuplicates(
        _ values: [JSONValue?], named key: String?, at location: (Int) -> Location
    ) {
        var first: [String: Int] = [:]
        for (place, value) in values.enumerated() {
            guard let text = value?.text, let earlier = first.updateValue(place, forKey: text) else { continue }
            first[text] = earlier
            let found = "\(key.map { "\($0) " } ?? "")\(BoundedText.shortened(text, to: 200))"
            add(
                LocatedJSON(.null, at: location(place)), "\(found) is already at \(location(earlier).path)")
        }
    }
}
