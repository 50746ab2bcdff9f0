import Foundation

/// Encodes parts of addresses. All characters but the unreserved ones are percent-encoded:
/// <https://www.rfc-editor.org/rfc/rfc3986#section-2.3>.
enum Address {
    /// Returns a segment of a path. The segments `.` and `..` are encoded too, because they would change the path.
    static func segment(_ text: String) -> String {
        [".", ".."].contains(text) ? text.replacingOccurrences(of: ".", with: "%2E") : encoded(text)
    }

    /// Returns a query with its question mark, or an empty text if there are no parameters.
    static func query(_ parameters: [(name: String, value: String)]) -> String {
        guard !parameters.isEmpty else { return "" }
        return "?" + parameters.map { "\(encoded($0.name))=\(encoded($0.value))" }.joined(separator: "&")
    }

    private static func encoded(_ text: String) -> String {
        var result = ""
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E:
                result.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                result += byte < 0x10 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return result
    }
}
