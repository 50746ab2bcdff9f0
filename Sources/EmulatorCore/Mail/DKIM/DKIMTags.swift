/// A list of tags and values, in which signatures and keys of DKIM are written: `v=1; a=rsa-sha256; d=example.com`.
/// <https://www.rfc-editor.org/rfc/rfc6376#section-3.2>
struct DKIMTags {
    /// What is wrong with a list, in words for people.
    struct Fault: Error {
        let description: String
    }

    private static let limit = 64 << 10

    private let values: [String: String]
    /// The tag that stands first.
    let first: String?

    init(_ text: String) throws(Fault) {
        var values: [String: String] = [:]
        var first: String?
        guard text.utf8.count <= DKIMTags.limit else { throw Fault(description: "longer than 64 kB") }
        for part in text.utf8.split(separator: UInt8(ascii: ";")) {
            let piece = DKIMTags.trimmed(part)
            if piece.isEmpty { continue }
            guard let mark = piece.firstIndex(of: UInt8(ascii: "=")) else {
                throw Fault(description: "\(Diagnosis.quote(String(decoding: piece, as: UTF8.self))) is no tag")
            }
            let name = String(decoding: DKIMTags.trimmed(piece[..<mark]), as: UTF8.self)
            guard DKIMTags.isName(name) else {
                throw Fault(description: "\(Diagnosis.quote(name)) is no tag's name")
            }
            let value = DKIMTags.trimmed(piece[mark...].dropFirst())
            guard values.updateValue(String(decoding: value, as: UTF8.self), forKey: name) == nil else {
                throw Fault(description: "the tag \"\(name)\" occurs twice")
            }
            if first == nil { first = name }
        }
        self.values = values
        self.first = first
    }

    subscript(name: String) -> String? { values[name] }

    func required(_ name: String) throws(Fault) -> String {
        guard let value = values[name], !value.isEmpty else {
            throw Fault(description: "the tag \"\(name)\" is missing")
        }
        return value
    }

    /// The parts of a value that are separated by colons.
    static func list(_ value: String) -> [String] {
        value.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
            .map { String(decoding: trimmed($0), as: UTF8.self) }
    }

    static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D || byte == 0x0A }

    /// Without the white space around it.
    static func trimmed<Bytes: BidirectionalCollection<UInt8>>(_ bytes: Bytes) -> Bytes.SubSequence {
        var rest = bytes.drop { isBlank($0) }
        while let last = rest.last, isBlank(last) { rest = rest.dropLast() }
        return rest
    }

    private static func isName(_ name: String) -> Bool {
        guard let first = name.utf8.first, isLetter(first) else { return false }
        return name.utf8.allSatisfy { isLetter($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "_") }
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }
}
