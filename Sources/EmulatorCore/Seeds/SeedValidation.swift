import JOSE

extension Shape {
    /// Every way in which `node` differs from this shape.
    package func faults(in node: SeedNode) -> [SeedFault] {
        var hints = SeedFaults.listed
        return faults(in: node, hints: &hints)
    }

    /// Only faults that can be listed get a hint: comparing words costs more than finding the fault.
    private func faults(in node: SeedNode, hints: inout Int) -> [SeedFault] {
        switch (self, node.content) {
        case (.nullable, .scalar(.null)): return []
        case (.nullable(let shape), _):
            return shape.faults(in: node, hints: &hints).map { fault in
                guard fault.path == node.origin.path, fault.message.hasPrefix("found ") else { return fault }
                return SeedFault(node, fault.message + ", or null")
            }
        case (.text(let rule), .scalar(.string(let text))):
            return rule.holds(text) ? [] : [mismatch(node)]
        case (.integer(let range), .scalar(let value)):
            guard let integer = value.integer, range.contains(integer) else { return [mismatch(node)] }
            return []
        case (.boolean, .scalar(.bool)), (.any, _): return []
        case (.number(let range), .scalar(let value)):
            return value.number.map { range.contains($0) } ?? false ? [] : [mismatch(node)]
        case (.either(let first, let second), _):
            let fits = first.faults(in: node, hints: &hints).isEmpty || second.faults(in: node, hints: &hints).isEmpty
            return fits ? [] : [mismatch(node)]
        case (.sequence(let shape), .list(let items)):
            return items.flatMap { shape.faults(in: $0) }
        case (.choice(let names), .scalar(.string(let text))):
            guard !names.contains(text) else { return [] }
            let hint = Shape.hint(text, among: names, &hints)
            return [SeedFault(node, "found \(node.found), expected \(expectation)\(hint ?? "")")]
        case (.object(let fields), .object(let members)):
            return faults(of: members, fields: fields, in: node, hints: &hints)
        case (.map(let shape), .object(let members)):
            return shape.faults(in: members.map(\.value), hints: &hints)
        case (.list(let shape, let key), .list(let items)):
            return shape.faults(in: items, hints: &hints)
                + Shape.duplicates(in: items.compactMap { $0[key] }, named: key)
        case (.set(let shape), .list(let items)):
            return shape.faults(in: items, hints: &hints) + Shape.duplicates(in: items, named: nil)
        default:
            return [mismatch(node)]
        }
    }

    private func faults(in nodes: [SeedNode], hints: inout Int) -> [SeedFault] {
        var faults: [SeedFault] = []
        for node in nodes { faults += self.faults(in: node, hints: &hints) }
        return faults
    }

    /// `nil` when there are hints enough.
    private static func hint(_ word: String, among names: [String], _ hints: inout Int) -> String? {
        guard hints > 0 else { return nil }
        hints -= 1
        return Spelling.hint(word, among: names)
    }

    private func mismatch(_ node: SeedNode) -> SeedFault {
        SeedFault(node, "found \(node.found), expected \(expectation)")
    }

    private func faults(
        of members: [(key: String, value: SeedNode)], fields: [Field], in node: SeedNode, hints: inout Int
    ) -> [SeedFault] {
        var faults: [SeedFault] = []
        let places = Dictionary(fields.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
        var found = Set<Int>()
        for member in members {
            if let place = places[member.key] {
                found.insert(place)
                faults += fields[place].shape.faults(in: member.value, hints: &hints)
            } else {
                let names = fields.map(\.name)
                let hint = Shape.hint(member.key, among: names, &hints)
                let known = hint == "" ? "; known here: " + names.joined(separator: ", ") : hint ?? ""
                let key = Place.shortened(member.key, to: 100)
                faults.append(SeedFault(member.value, "unknown key \"\(key)\"" + known))
            }
        }
        for (place, field) in fields.enumerated() where field.isRequired && !found.contains(place) {
            faults.append(SeedFault(node, "the key \"\(field.name)\" is missing: expected \(field.shape.expectation)"))
        }
        return faults
    }

    private static func duplicates(in nodes: [SeedNode], named key: String?) -> [SeedFault] {
        var first: [String: SeedNode] = [:]
        return nodes.compactMap { node in
            let text = node.value.text
            guard let earlier = first[text] else {
                first[text] = node
                return nil
            }
            let found = Place.shortened(text, to: 200)
            return SeedFault(node, "\(key.map { "\($0) " } ?? "")\(found) is already at \(earlier.origin.path)")
        }
    }
}

/// Guesses what a mistyped word was meant to be.
package enum Spelling {
    /// `; did you mean "…"?`, or nothing when no word is near.
    package static func hint(_ word: String, among known: [String]) -> String {
        // Only short words are compared, so that a hostile one costs nothing.
        guard word.utf8.count <= 160 else { return "" }
        let near = known.map { (word: $0, distance: distance(word.lowercased(), $0.lowercased())) }
            .filter { $0.distance <= max(1, min(word.count, $0.word.count) / 3) }
            .min { $0.distance < $1.distance }
        return near.map { "; did you mean \"\($0.word)\"?" } ?? ""
    }

    /// Levenshtein's distance, two neighbours swapped counting once.
    private static func distance(_ left: String, _ right: String) -> Int {
        let left = Array(left)
        let right = Array(right)
        guard left.count <= 40, right.count <= 40 else { return .max }
        var rows = [Array(0...right.count)]
        for (i, a) in left.enumerated() {
            var row = [i + 1]
            for (j, b) in right.enumerated() {
                var best = min(rows[i][j] + (a == b ? 0 : 1), rows[i][j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, a == right[j - 1], b == left[i - 1] { best = min(best, rows[i - 1][j - 1] + 1) }
                row.append(best)
            }
            rows.append(row)
        }
        return rows[left.count][right.count]
    }
}
