import JOSE
import JSON

package enum WorldName {
    /// The largest number of bytes that a test world's name may have.
    package static let limit = 64
    /// The largest number of bytes that a label of a host name may have:
    /// <https://www.rfc-editor.org/rfc/rfc1035#section-2.3.4>.
    private static let labelLimit = 63
    /// The number of hexadecimal digits at the end of a test world's name that was made from a text. They come from the
    /// text's digest.
    private static let digestLength = 12

    /// The rule for the names of test worlds, as a part of a sentence.
    package static let rule = "a test world's name is 1 to 64 letters, digits, \"-\", \"_\" and \".\""

    /// Returns whether a test world can have this name. Upper and lower case make different names. A host name, which
    /// is always in lower case, can only lead to a world whose name is in lower case.
    package static func isValid(_ name: String) -> Bool { name.utf8.count <= limit && TextRule.identifier.holds(name) }

    /// Returns a test world's name for any text, such as the name of a test. It has at most 63 lower-case letters,
    /// digits and single hyphens, so that it works in a path, in a host name and as a proxy's user name. The same text
    /// always gives the same name.
    ///
    /// A text that already has this form stays as it is. From any other text, the readable part is kept and followed by
    /// 12 digits of the text's SHA-256 digest, so that different texts give different names. The text `default` gets a
    /// digest, too, because requests that name no world use the world `default`.
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

    /// Returns a text's digits and ASCII letters, in lower case, with one hyphen in place of anything between them.
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
