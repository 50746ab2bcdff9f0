import JOSE

extension Shape {
    /// Every way in which `node` differs from this shape.
    package func faults(in node: SeedNode) -> [SeedFault] {
        switch (self, node.content) {
        case (.nullable, .scalar(.null)): return []
        case (.nullable(let shape), _):
            return shape.faults(in: node).map { fault in
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
            return [first, second].contains { $0.faults(in: node).isEmpty } ? [] : [mismatch(node)]
        case (.sequence(let shape), .list(let items)):
            return items.flatMap { shape.faults(in: $0) }
        case (.choice(let names), .scalar(.string(let text))):
            guard !names.contains(text) else { return [] }
            return [SeedFault(node, "found \(node.found), expected \(expectation)" + Spelling.hint(text, among: names))]
        case (.object(let fields), .object(let members)):
            return faults(of: members, fields: fields, in: node)
        case (.map(let shape), .object(let members)):
            return members.flatMap { shape.faults(in: $0.value) }
        case (.list(let shape, let key), .list(let items)):
            return items.flatMap { shape.faults(in: $0) }
                + Shape.duplicates(in: items.compactMap { $0[key] }, named: key)
        case (.set(let shape), .list(let items)):
            return items.flatMap { shape.faults(in: $0) } + Shape.duplicates(in: items, named: nil)
        default:
            return [mismatch(node)]
        }
    }

    private func mismatch(_ node: SeedNode) -> SeedFault {
        SeedFault(node, "found \(node.found), expected \(expectation)")
    }

    private func faults(
        of members: [(key: String, value: SeedNode)], fields: [Field], in node: SeedNode
    ) -> [SeedFault] {
        var faults: [SeedFault] = []
        for member in members {
            if let field = fields.first(where: { $0.name == member.key }) {
                faults += field.shape.faults(in: member.value)
            } else {
                let names = fields.map(\.name)
                let hint = Spelling.hint(member.key, among: names)
                let known = hint.isEmpty ? "; known here: " + names.joined(separator: ", ") : hint
                faults.append(SeedFault(member.value, "unknown key \"\(member.key)\"" + known))
            }
        }
        for field in fields where field.isRequired && node[field.name] == nil {
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
            return SeedFault(node, "\(key.map { "\($0) " } ?? "")\(text) is already at \(earlier.origin.path)")
        }
    }
}

/// Guesses what a mistyped word was meant to be.
package enum Spelling {
    /// `; did you mean "…"?`, or nothing when no word is near.
    package static func hint(_ word: String, among known: [String]) -> String {
        let near = known.map { (word: $0, distance: distance(word.lowercased(), $0.lowercased())) }
            .filter { $0.distance <= max(1, min(word.count, $0.word.count) / 3) }
            .min { $0.distance < $1.distance }
        return near.map { "; did you mean \"\($0.word)\"?" } ?? ""
    }

    /// Levenshtein's distance, two neighbours swapped counting once. Only short words are compared, so that a hostile
    /// file costs nothing.
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
