/// The cookies of a request: <https://datatracker.ietf.org/doc/html/rfc6265#section-4.2>. They are compared byte by
/// byte, because comparing characters takes quadratic time for a character with many combining marks.
package struct Cookies {
    /// The cookies in the order in which they came.
    package let pairs: [(name: Substring.UTF8View, value: Substring.UTF8View)]

    /// Reads the value of a `Cookie` header. A part without an equals sign isn't a cookie.
    package init(_ header: String) {
        pairs = header.utf8.split(separator: UInt8(ascii: ";")).compactMap { pair in
            let pair = pair.drop { $0 == UInt8(ascii: " ") }
            guard let mark = pair.firstIndex(of: UInt8(ascii: "=")) else { return nil }
            return (name: pair[..<mark], value: pair[mark...].dropFirst())
        }
    }

    /// The value of the first one with this name.
    package subscript(name: String) -> String? {
        pairs.first { $0.name.elementsEqual(name.utf8) }.map { String(Substring($0.value)) }
    }
}
