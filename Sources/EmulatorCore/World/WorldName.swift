import JOSE
import JSON

/// The names of worlds.
package enum WorldName {
    /// How many bytes a name may have.
    package static let limit = 64
    /// How many a label of a host name may have: <https://www.rfc-editor.org/rfc/rfc1035#section-2.3.4>.
    private static let labelLimit = 63
    /// Hexadecimal digits of the text's digest.
    private static let digestLength = 12

    /// What a name looks like, as a part of a sentence.
    package static let rule = "a world's name is 1 to 64 letters, digits, \"-\", \"_\" and \".\""

    /// Whether a world can be called this. Names are compared character by character; a host name, which is always in lower case,
    /// leads to a world whose name is so.
    package static func isValid(_ name: String) -> Bool { name.utf8.count <= limit && TextRule.identifier.holds(name) }

    /// A world's name made from any text, such as a test's: lower-case letters, digits and single hyphens, at most 63, so that it
    /// works in a path, in a host name and as a proxy's user. The same text always gives the same name.
    ///
    /// A text that is such a name already stays as it is. Of any other one, what can be read is kept, and 12 digits of its
    /// SHA-256 digest follow, so that different texts give different names. `default` counts as another text: it is the name of
    /// the world that a text of one's own shouldn't share.
    package static func made(from text: String) -> String {
        let readable = readablePart(of: text)
        if readable == text, text.utf8.count <= labelLimit, !text.isEmpty, text != WorldRegistry.defaultName {
            return text
        }
        let digest = Hex.encode(Array(Digest.sha256(text))).prefix(digestLength)
        var kept = readable.prefix(labelLimit - digestLength - 1)
        while kept.hasSuffix("-") { kept.removeLast() }
        return kept.isEmpty ? "world-\(digest)" : "\(kept)-\(digest)"
    }

    /// Letters of ASCII in lower case and digits, with a hyphen in place of what lies between them.
    private static func readablePart(of text: String) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            let lower = (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
            if (0x61...0x7A).contains(lower) || (0x30...0x39).contains(lower) {
                bytes.append(lower)
            } else if let last = bytes.last, last != UInt8(ascii: "-") {
                bytes.append(UInt8(ascii: "-"))
            }
        }
        if bytes.last == UInt8(ascii: "-") { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }
}
