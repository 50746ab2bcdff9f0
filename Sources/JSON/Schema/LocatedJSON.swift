/// A JSON value with the file and the path at which it was written, even after files were merged, so that an issue
/// found later still names its position. Paths are built only when they are needed.
package struct LocatedJSON: Sendable {
    package let value: JSONValue
    package let location: Location

    package init(_ value: JSONValue, file: String) { self.init(value, at: Location(file: file)) }

    package init(_ value: JSONValue, at location: Location) {
        self.value = value
        self.location = location
    }

    package var file: String { location.file }

    /// The path, such as `$.accounts[0].email`.
    package var path: String { location.path }

    package subscript(key: String) -> LocatedJSON? {
        guard case .object(let object) = value else { return nil }
        return object[key].map { LocatedJSON($0, at: location.member(key)) }
    }

    /// The elements, if the value is a list.
    package var items: [LocatedJSON] {
        guard case .array(let items) = value else { return [] }
        return items.enumerated().map { LocatedJSON($1, at: location.element($0)) }
    }

    /// The members, if the value is an object.
    package var members: [(key: String, value: LocatedJSON)] {
        guard case .object(let object) = value else { return [] }
        return object.members.map { (key: $0.key, value: LocatedJSON($0.value, at: location.member($0.key))) }
    }

    package var string: String? { value.string }

    /// The description of the value, for a sentence after "found".
    var found: String {
        switch value {
        case .array, .object, .null: value.kindName
        default: value.text.utf8.count > 60 ? value.kindName : "\(value.kindName) (\(value.text))"
        }
    }
}

/// A file and a path in it. After a merge, parts of a value may come from other files.
package struct Location: Sendable {
    fileprivate enum Step: Hashable, Sendable {
        case member(String)
        case element(Int)

        var text: String {
            switch self {
            case .element(let place): return "[\(place)]"
            case .member(let key):
                let name = Place.shortened(key, to: 100)
                let isPlain = TextRule.identifier.holds(key) && !key.contains(".")
                return isPlain ? ".\(name)" : "[\(JSONValue.string(name).text)]"
            }
        }
    }

    /// The steps of the path, the last one first. Locations in the same object share the steps that lead to it.
    fileprivate final class Way: Sendable {
        let before: Way?
        let step: Step

        init(_ before: Way?, _ step: Step) {
            self.before = before
            self.step = step
        }
    }

    package let file: String
    private let way: Way?
    /// The locations of parts that came from other files.
    private var parts: [Step: Location] = [:]

    package init(file: String) { self.init(file: file, nil) }

    private init(file: String, _ way: Way?) {
        self.file = file
        self.way = way
    }

    package func member(_ key: String) -> Location { part(.member(key)) }

    package func element(_ place: Int) -> Location { part(.element(place)) }

    private func part(_ step: Step) -> Location {
        // Most values come from a single file.
        (parts.isEmpty ? nil : parts[step]) ?? Location(file: file, Way(way, step))
    }

    /// Records that the member came from `location`.
    mutating func setMember(_ key: String, _ location: Location) { parts[.member(key)] = location }

    mutating func setElement(_ place: Int, _ location: Location) { parts[.element(place)] = location }

    package var path: String {
        var steps: [Step] = []
        var rest = way
        while let current = rest {
            steps.append(current.step)
            rest = current.before
        }
        return steps.reversed().reduce("$") { Place.step($0, $1.text) }
    }
}
