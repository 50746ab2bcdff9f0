/// An error found by validation, with its position.
package struct Issue: Error, Sendable, Equatable, CustomStringConvertible {
    package let file: String
    package let path: String
    package let message: String

    package init(file: String, path: String, message: String) {
        self.file = file
        self.path = path
        self.message = Place.shortened(message, to: Issue.messageLimit)
    }

    /// The most bytes of a message, which may quote the value.
    private static let messageLimit = 500

    package init(_ json: LocatedJSON, _ message: String) {
        self.init(file: json.file, path: json.path, message: message)
    }

    package var description: String { "\(file): \(path): \(message)" }
}

/// All errors found by validation, in all files.
package struct Issues: Error, Sendable, CustomStringConvertible {
    package let all: [Issue]

    package init(_ all: [Issue]) { self.all = all }

    /// Makes an issue about a whole file.
    package init(file: String, _ message: String) { self.init([Issue(file: file, path: "$", message: message)]) }

    /// The first twenty issues, a line each, and the number of the others.
    package var description: String {
        let lines = all.prefix(Issues.listed).map(\.description)
        let rest = all.count - lines.count
        return (lines + (rest > 0 ? [Issues.more(rest)] : [])).joined(separator: "\n")
    }

    package static let listed = 20

    /// Returns the last line, such as `and 59,980 more`.
    package static func more(_ count: Int) -> String {
        let digits = Array(String(count))
        let grouped = digits.enumerated().reduce("") { text, digit in
            let isGroup = digit.offset > 0 && (digits.count - digit.offset) % 3 == 0
            return text + (isGroup ? "," : "") + String(digit.element)
        }
        return "and \(grouped) more"
    }
}
