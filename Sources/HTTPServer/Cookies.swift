/// Cookies of a request: <https://datatracker.ietf.org/doc/html/rfc6265#section-4.2>. They are read byte by byte: comparing characters
/// takes the square of the marks that stand on one.
package struct Cookies {
    /// In the order in which they came.
    package let pairs: [(name: Substring.UTF8View, value: Substring.UTF8View)]

    /// Of a header's value. What has no equals sign is no cookie.
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
