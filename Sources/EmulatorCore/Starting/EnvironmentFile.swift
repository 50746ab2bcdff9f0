/// Reads the variables of `.env` files: one `NAME=value` per line, with `#` before comments. A value in single quotes
/// is used as it is. In double quotes, `\n` is a line break. A quoted value may have several lines.
///
/// There is no specification of such files. These rules are common to the libraries for Node, Python and Ruby.
/// References to variables in values aren't expanded.
enum EnvironmentFile {
    static func variables(in text: String) throws(AppConfiguration.Malformed) -> [(String, String)] {
        var reader = Reader(text)
        var variables: [(String, String)] = []
        while let variable = try reader.next() { variables.append(variable) }
        return variables
    }

    private struct Reader {
        private let bytes: [UInt8]
        private var place = 0
        private var line = 1

        init(_ text: String) { bytes = Array(text.utf8) }

        /// Returns the next variable of the `.env` file, after comments and empty lines; `nil` at the end.
        mutating func next() throws(AppConfiguration.Malformed) -> (String, String)? {
            while true {
                skip { PropertyList.isSpace($0) }
                guard place < bytes.count else { return nil }
                guard bytes[place] == UInt8(ascii: "#") else { break }
                skip { $0 != UInt8(ascii: "\n") }
            }
            let start = line
            var name = readText { EnvironmentFile.isNameByte($0) }
            skip { EnvironmentFile.isBlank($0) }
            if name == "export" {
                name = readText { EnvironmentFile.isNameByte($0) }
                skip { EnvironmentFile.isBlank($0) }
            }
            guard !name.isEmpty, place < bytes.count, bytes[place] == UInt8(ascii: "=") else {
                throw AppConfiguration.Malformed(line: start, "expected NAME=value")
            }
            place += 1
            skip { EnvironmentFile.isBlank($0) }
            let quote = place < bytes.count ? bytes[place] : 0
            guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else { return (name, plainValue()) }
            return (name, try quotedValue(quote))
        }

        /// Returns the unquoted value of a variable, which ends at the end of the line or before a comment.
        private mutating func plainValue() -> String {
            let start = place
            skip { $0 != UInt8(ascii: "\n") }
            var value = bytes[start..<place]
            if let comment = value.indices.first(where: {
                value[$0] == UInt8(ascii: "#") && ($0 == start || EnvironmentFile.isBlank(value[$0 - 1]))
            }) {
                value = value[..<comment]
            }
            while let last = value.last, PropertyList.isSpace(last) { value.removeLast() }
            return String(decoding: value, as: UTF8.self)
        }

        private mutating func quotedValue(_ quote: UInt8) throws(AppConfiguration.Malformed) -> String {
            let start = line
            place += 1
            var value: [UInt8] = []
            while place < bytes.count, bytes[place] != quote {
                var byte = bytes[place]
                if byte == UInt8(ascii: "\n") { line += 1 }
                if byte == UInt8(ascii: "\\"), quote == UInt8(ascii: "\""), place + 1 < bytes.count {
                    place += 1
                    byte = bytes[place] == UInt8(ascii: "n") ? UInt8(ascii: "\n") : bytes[place]
                }
                value.append(byte)
                place += 1
            }
            guard place < bytes.count else {
                throw AppConfiguration.Malformed(line: start, "the quotation isn't closed")
            }
            place += 1
            // A comment may follow the value.
            skip { $0 != UInt8(ascii: "\n") }
            return String(decoding: value, as: UTF8.self)
        }

        private mutating func skip(_ isSkipped: (UInt8) -> Bool) {
            while place < bytes.count, isSkipped(bytes[place]) {
                if bytes[place] == UInt8(ascii: "\n") { line += 1 }
                place += 1
            }
        }

        private mutating func readText(_ isTaken: (UInt8) -> Bool) -> String {
            let start = place
            skip(isTaken)
            return String(decoding: bytes[start..<place], as: UTF8.self)
        }
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
