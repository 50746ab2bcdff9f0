/// A JSON value with the file and the path at which it was written. A mistake is reported with both, even if it is
/// found after files were merged. Paths are built only when they are needed.
package struct LocatedJSON: Sendable {
    package let value: JSONValue
    package let location: Location

    package init(_ value: JSONValue, file: String) { self.init(value, at: Location(file: file)) }

    package init(_ value: JSONValue, at location: Location) {
        self.value = value
        self.location = location
    }

    package var file: String { location.file }

    /// The path of the value in its file, such as `$.accounts[0].email`.
    package var path: String { location.path }

    package subscript(key: String) -> LocatedJSON? {
        guard case .object(let object) = value else { return nil }
        return object[key].map { LocatedJSON($0, at: location.member(key)) }
    }

    /// The elements of this JSON value with their positions; empty if the value isn't a list.
    package var items: [LocatedJSON] {
        guard case .array(let items) = value else { return [] }
        return items.enumerated().map { LocatedJSON($1, at: location.element($0)) }
    }

    /// The members of this JSON value with their positions; empty if the value isn't an object.
    package var members: [(key: String, value: LocatedJSON)] {
        guard case .object(let object) = value else { return [] }
        return object.members.map { (key: $0.key, value: LocatedJSON($0.value, at: location.member($0.key))) }
    }

    package var string: String? { value.string }

    /// The words that follow "found" in an error message about this JSON value.
    var found: String {
        switch value {
        case .array, .object, .null: value.kindName
        default: value.text.utf8.count > 60 ? value.kindName : "\(value.kindName) (\(value.text))"
        }
    }
}

/// The position of a JSON value: a file, and a path in the file. After a merge, parts of a value may come from
/// different files.
package struct Location: Sendable {
    fileprivate enum Step: Hashable, Sendable {
        case member(String)
        case element(Int)

        var text: String {
            switch self {
            case .element(let place): return "[\(place)]"
            case .member(let key):
                let name = BoundedText.shortened(key, to: 100)
                let isPlain = TextRule.identifier.holds(key) && !key.contains(".")
                return isPlain ? ".\(name)" : "[\(JSONValue.string(name).text)]"
            }
        }
    }

    /// The steps of a JSON value's path, the last one first. Values in the same object share the steps that lead to the
    /// object.
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
    /// The file and path of each member or element that a merge has put into this JSON value. The file may be another
    /// one than `file`.
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

    /// Records that the object's member `key` was written at `location`, which may be in another file than the object.
    mutating func setMember(_ key: String, _ location: Location) { parts[.member(key)] = location }

    mutating func setElement(_ place: Int, _ location: Location) { parts[.element(place)] = location }

    package var path: String {
        var steps: [Step] = []
        var rest = way
        while let current = rest {
            steps.append(current.step)
            rest = current.before
        }
        return steps.reversed().reduce("$") { BoundedText.extended($0, $1.text) }
    }
}

/// Functions that keep a text short: the path of a value in a JSON document whose members may have long names, or a text
/// that a message quotes.
package enum BoundedText {
    private static let limit = 240

    /// Returns the path `place`, extended by `step`. If the extended path would be too long, returns `place` with an
    /// ellipsis.
    package static func extended(_ place: String, _ step: String) -> String {
        if place.utf8.count + step.utf8.count <= limit { return place + step }
        return place.hasSuffix("…") ? place : place + "…"
    }

    /// Returns `text`, or its beginning with an ellipsis if it is longer than `limit` bytes.
    package static func shortened(_ text: String, to limit: Int) -> String {
        guard text.utf8.count > limit else { return text }
        var end = text.utf8.index(text.utf8.startIndex, offsetBy: limit)
        while end > text.startIndex, end.samePosition(in: text.unicodeScalars) == nil {
            end = text.utf8.index(before: end)
        }
        return text[..<end] + "…"
    }
}

/// A mistake that validation has found in JSON, with its file and its path.
package struct Issue: Error, Sendable, Equatable, CustomStringConvertible {
    package let file: String
    package let path: String
    package let message: String

    package init(file: String, path: String, message: String) {
        self.file = file
        self.path = path
        self.message = BoundedText.shortened(message, to: Issue.messageLimit)
    }

    /// The largest number of bytes of a message about a mistake in JSON. A message may quote the mistaken value, which
    /// can be long.
    private static let messageLimit = 500

    package init(_ json: LocatedJSON, _ message: String) {
        self.init(file: json.file, path: json.path, message: message)
    }

    package var description: String { "\(file): \(path): \(message)" }
}

/// All mistakes that validation has found, in all files.
package struct Issues: Error, Sendable, CustomStringConvertible {
    package let all: [Issue]

    package init(_ all: [Issue]) { self.all = all }

    /// Makes a list of mistakes with one entry: a mistake that concerns a whole file.
    package init(file: String, _ message: String) { self.init([Issue(file: file, path: "$", message: message)]) }

    /// The first twenty mistakes, one per line, and the number of the remaining ones.
    package var description: String {
        let lines = all.prefix(Issues.listed).map(\.description)
        let rest = all.count - lines.count
        return (lines + (rest > 0 ? [Issues.more(rest)] : [])).joined(separator: "\n")
    }

    package static let listed = 20

    /// Returns the last line of a long list of mistakes, such as `and 59,980 more`.
    package static func more(_ count: Int) -> String {
        let digits = Array(String(count))
        let grouped = digits.enumerated().reduce("") { text, digit in
            let isGroup = digit.offset > 0 && (digits.count - digit.offset) % 3 == 0
            return text + (isGroup ? "," : "") + String(digit.element)
        }
        return "and \(grouped) more"
    }
}

/// Finds the known word that was probably meant by a misspelled word.
package enum Spelling {
    /// The largest number of known words with which a misspelled word is compared, since they are compared one by one.
    package static let limit = 1_000

    /// Returns the hint `; did you mean "…"?` with the known word that is most similar to `word`, or an empty text if
    /// none of the first thousand words is similar.
    package static func hint(_ word: String, among known: [String]) -> String {
        nearest(to: word, among: known).map { "; did you mean \"\($0)\"?" } ?? ""
    }

    /// Returns the known word that is most similar to `word`; `nil` if none is similar. Only the first thousand known
    /// words are compared.
    package static func nearest(to word: String, among known: [String]) -> String? {
        // Only short words are compared, so that a very long one costs nothing.
        guard word.utf8.count <= 160 else { return nil }
        let letters = Array(word.lowercased().unicodeScalars)
        var best: (word: String, distance: Int)?
        for other in known.prefix(limit) where other.utf8.count <= 160 {
            let others = Array(other.lowercased().unicodeScalars)
            let allowed = max(1, min(letters.count, others.count) / 3)
            // A word that is much longer or shorter can't be near.
            guard abs(letters.count - others.count) <= allowed else { continue }
            let distance = distance(letters, others)
            if distance <= allowed, distance < best?.distance ?? .max { best = (other, distance) }
        }
        return best?.word
    }

    /// Returns the Levenshtein distance of two words, where a swap of two neighbouring characters counts as one change.
    private static func distance(_ left: [Unicode.Scalar], _ right: [Unicode.Scalar]) -> Int {
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
