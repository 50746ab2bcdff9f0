import JOSE

/// A mail as DKIM hashes it: <https://www.rfc-editor.org/rfc/rfc6376#section-3.4>.
struct CanonicalMail {
    struct Field {
        /// In lower case.
        let name: String
        /// With its name and the end of its last line.
        let bytes: ArraySlice<UInt8>

        /// What stands behind the colon, as it stands there.
        var value: ArraySlice<UInt8> {
            bytes.firstIndex(of: UInt8(ascii: ":")).map { bytes[$0...].dropFirst() } ?? []
        }
    }

    /// From the top.
    let fields: [Field]
    private let body: ArraySlice<UInt8>
    /// Indexes into `fields`, from the top, by name.
    private let places: [String: [Int]]

    private static let fieldLimit = 10_000

    init(_ raw: [UInt8]) {
        var rest = raw[...]
        var fields: [Field] = []
        var start = raw.startIndex
        func close(at end: Int) {
            let bytes = raw[start..<end]
            guard !bytes.isEmpty, fields.count < CanonicalMail.fieldLimit,
                let mark = bytes.firstIndex(of: UInt8(ascii: ":"))
            else { return }
            let name = String(decoding: DKIMTags.trimmed(bytes[..<mark]), as: UTF8.self).lowercased()
            fields.append(Field(name: name, bytes: bytes))
        }
        while !rest.isEmpty {
            let line = CanonicalMail.line(&rest)
            if line.elementsEqual([0x0D, 0x0A]) {
                close(at: line.startIndex)
                start = rest.startIndex
                break
            }
            if line.first != 0x20, line.first != 0x09 {
                close(at: line.startIndex)
                start = line.startIndex
            }
            if rest.isEmpty {
                close(at: line.endIndex)
                start = line.endIndex
            }
        }
        self.fields = fields
        body = rest
        var places: [String: [Int]] = [:]
        for (place, field) in fields.enumerated() { places[field.name, default: []].append(place) }
        self.places = places
    }

    /// Takes a line off, with the CR LF at its end.
    private static func line(_ rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var place = rest.startIndex
        while let feed = rest[place...].firstIndex(of: 0x0A) {
            if feed > rest.startIndex, rest[feed - 1] == 0x0D {
                defer { rest = rest[(feed + 1)...] }
                return rest[...feed]
            }
            place = feed + 1
        }
        defer { rest = [] }
        return rest
    }

    // MARK: - The header

    /// What a signature signs: the fields that it names, and its own field without the signature. Of several fields of one name the
    /// lowest is taken first; no field is taken twice, so this is never longer than the header.
    func header(_ signature: DKIMSignature, in own: Field) -> [UInt8] {
        var output: [UInt8] = []
        var taken: [String: Int] = [:]
        for name in signature.fields {
            guard let places = places[name] else { continue }
            let count = taken[name, default: 0]
            guard count < places.count else { continue }
            taken[name] = count + 1
            output += CanonicalMail.canonical(fields[places[places.count - 1 - count]].bytes, signature.header)
        }
        output += CanonicalMail.canonical(CanonicalMail.withoutSignature(own)[...], signature.header)
        // The end of the last line isn't signed.
        if output.suffix(2) == [0x0D, 0x0A] { output.removeLast(2) }
        return output
    }

    /// The field without the value of its tag `b`.
    private static func withoutSignature(_ field: Field) -> [UInt8] {
        let value = field.value
        var output = Array(field.bytes[..<value.startIndex])
        var parts = value.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)[...]
        var isFirst = true
        while let part = parts.popFirst() {
            if !isFirst { output.append(UInt8(ascii: ";")) }
            isFirst = false
            let mark = part.firstIndex(of: UInt8(ascii: "="))
            if let mark, DKIMTags.trimmed(part[..<mark]).elementsEqual([UInt8(ascii: "b")]) {
                output += part[...mark]
                // The end of the line, where it is the last tag, belongs to the field.
                if parts.isEmpty, part.suffix(2) == [0x0D, 0x0A] { output += [0x0D, 0x0A] }
            } else {
                output += part
            }
        }
        return output
    }

    private static func canonical(
        _ field: ArraySlice<UInt8>, _ method: DKIMSignature.Canonicalization
    ) -> [UInt8] {
        guard method == .relaxed, let mark = field.firstIndex(of: UInt8(ascii: ":")) else { return Array(field) }
        var output = DKIMTags.trimmed(field[..<mark]).map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        output.append(UInt8(ascii: ":"))
        var wasBlank = false
        for byte in DKIMTags.trimmed(field[mark...].dropFirst()) {
            if DKIMTags.isBlank(byte) {
                wasBlank = true
                continue
            }
            if wasBlank { output.append(0x20) }
            wasBlank = false
            output.append(byte)
        }
        return output + [0x0D, 0x0A]
    }

    // MARK: - The body

    func body(_ method: DKIMSignature.Canonicalization) -> [UInt8] {
        var output = method == .simple ? Array(body) : relaxedBody
        // Empty lines at the end don't count. They are counted first: a slice that is compared makes each removal a copy.
        var end = output.count
        while end >= 4, output[(end - 4)..<end].elementsEqual([0x0D, 0x0A, 0x0D, 0x0A]) { end -= 2 }
        output.removeLast(output.count - end)
        if output == [0x0D, 0x0A] { output = [] }
        if output.isEmpty { return method == .simple ? [0x0D, 0x0A] : [] }
        if output.suffix(2) != [0x0D, 0x0A] { output += [0x0D, 0x0A] }
        return output
    }

    /// Runs of blanks are one space, and none stands at a line's end.
    private var relaxedBody: [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(body.count)
        var wasBlank = false
        for place in body.indices {
            let byte = body[place]
            if byte == 0x20 || byte == 0x09 {
                wasBlank = true
                continue
            }
            let endsLine = byte == 0x0D && body.index(after: place) < body.endIndex && body[place + 1] == 0x0A
            if wasBlank, !endsLine { output.append(0x20) }
            wasBlank = false
            output.append(byte)
        }
        return output
    }
}
