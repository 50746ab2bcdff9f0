import JSON

/// A JSON value that remembers where it was written, so that a fault found after merging still names file and path.
package struct SeedNode: Sendable {
    package struct Origin: Sendable {
        package let file: String
        package let path: String
    }

    package enum Content: Sendable {
        case scalar(JSONValue)
        case list([SeedNode])
        case object([(key: String, value: SeedNode)])
    }

    package let origin: Origin
    package var content: Content

    package init(_ value: JSONValue, file: String, path: String = "$") {
        origin = Origin(file: file, path: path)
        switch value {
        case .array(let values):
            content = .list(values.enumerated().map { SeedNode($1, file: file, path: Place.step(path, "[\($0)]")) })
        case .object(let object):
            content = .object(
                object.members.map { member in
                    let isPlain = TextRule.identifier.holds(member.key) && !member.key.contains(".")
                    let name = Place.shortened(member.key, to: 100)
                    let step = isPlain ? ".\(name)" : "[\(JSONValue.string(name).text)]"
                    return (
                        key: member.key, value: SeedNode(member.value, file: file, path: Place.step(path, step))
                    )
                })
        default:
            content = .scalar(value)
        }
    }

    package subscript(key: String) -> SeedNode? {
        get {
            guard case .object(let members) = content else { return nil }
            return members.first { $0.key == key }?.value
        }
        set {
            guard case .object(var members) = content else { return }
            content = .scalar(.null)
            let place = members.firstIndex { $0.key == key }
            switch (place, newValue) {
            case (let place?, let value?): members[place].value = value
            case (let place?, nil): members.remove(at: place)
            case (nil, let value?): members.append((key: key, value: value))
            case (nil, nil): break
            }
            content = .object(members)
        }
    }

    /// The elements, when it is a list.
    package var items: [SeedNode] {
        guard case .list(let items) = content else { return [] }
        return items
    }

    package var string: String? {
        guard case .scalar(let value) = content else { return nil }
        return value.string
    }

    package var value: JSONValue {
        switch content {
        case .scalar(let value): value
        case .list(let items): .array(items.map(\.value))
        case .object(let members): .object(JSONObject(members.map { ($0.key, $0.value.value) }))
        }
    }

    /// What was found, in a sentence after "found".
    var found: String {
        let value = value
        switch value {
        case .array, .object, .null: return value.kindName
        default: return value.text.utf8.count > 60 ? value.kindName : "\(value.kindName) (\(value.text))"
        }
    }
}

/// One fault of a seed file: where, and what is wrong there.
package struct SeedFault: Error, Sendable, Equatable, CustomStringConvertible {
    package let file: String
    package let path: String
    package let message: String

    package init(file: String, path: String, message: String) {
        self.file = file
        self.path = path
        self.message = Place.shortened(message, to: SeedFault.messageLimit)
    }

    /// In bytes: a message may quote what was found.
    private static let messageLimit = 500

    init(_ node: SeedNode, _ message: String) {
        self.init(file: node.origin.file, path: node.origin.path, message: message)
    }

    package var description: String { "\(file): \(path): \(message)" }
}

/// All the faults of all files, found in one go.
package struct SeedFaults: Error, Sendable, CustomStringConvertible {
    package let faults: [SeedFault]

    package init(faults: [SeedFault]) { self.faults = faults }

    /// A line for each of the first twenty, and how many more there are.
    package var description: String {
        let lines = faults.prefix(SeedFaults.listed).map(\.description)
        let rest = faults.count - lines.count
        return (lines + (rest > 0 ? [SeedFaults.more(rest)] : [])).joined(separator: "\n")
    }

    package static let listed = 20

    /// `and 59,980 more`
    package static func more(_ count: Int) -> String {
        let digits = Array(String(count))
        let grouped = digits.enumerated().reduce("") { text, digit in
            let isGroup = digit.offset > 0 && (digits.count - digit.offset) % 3 == 0
            return text + (isGroup ? "," : "") + String(digit.element)
        }
        return "and \(grouped) more"
    }
}
