/// Replaces header fields of a mail whose content stays the same, byte for byte.
package enum HeaderRewriting {
    /// Returns the mail with these fields in place of all of the same names, at the position of the first one, or at
    /// the end of the header. Values are as people read them.
    package static func replace(_ raw: [UInt8], with fields: [InboxMessage.HeaderField]) -> [UInt8] {
        guard !fields.isEmpty else { return raw }
        var output: [UInt8] = []
        output.reserveCapacity(raw.count + 512)
        let names = Set(fields.map { $0.name.lowercased() })
        // A field without a value only removes those of its name.
        var left = fields.filter { !$0.value.isEmpty }
        var rest = raw[...]
        var isLeftOut = false
        while !rest.isEmpty {
            let line = takeLine(&rest)
            if line.elementsEqual([0x0A]) || line.elementsEqual([0x0D, 0x0A]) || line.elementsEqual([0x0D]) {
                rest = raw[line.startIndex...]
                break
            }
            if line.first != 0x20, line.first != 0x09 {
                let name = self.name(line)
                isLeftOut = names.contains(name)
                for field in left where field.name.lowercased() == name { output += Array(written(field).utf8) }
                left.removeAll { $0.name.lowercased() == name }
            }
            if !isLeftOut { output += line }
        }
        if let last = output.last, last != 0x0A, !left.isEmpty { output += [0x0D, 0x0A] }
        for field in left { output += Array(written(field).utf8) }
        return output + rest
    }

    private static func takeLine(_ rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let end = rest.firstIndex(of: 0x0A).map { $0 + 1 } ?? rest.endIndex
        defer { rest = rest[end...] }
        return rest[..<end]
    }

    private static func name(_ line: ArraySlice<UInt8>) -> String {
        let name = line.prefix { $0 != UInt8(ascii: ":") && $0 != 0x20 && $0 != 0x09 }
        return String(decoding: name, as: UTF8.self).lowercased()
    }

    private static let addresses: Set<String> = ["from", "sender", "reply-to", "to", "cc", "bcc"]

    /// Returns the field as it is in a mail, with the line's end.
    static func written(_ field: InboxMessage.HeaderField) -> String {
        guard addresses.contains(field.name.lowercased()) else {
            return "\(field.name): \(plain(field.value) ?? HeaderText.encode(field.value))\r\n"
        }
        let mailboxes = (displayed(field.value).map { [$0] } ?? AddressList.read(field.value)).map(\.headerText)
        return "\(field.name): \(mailboxes.joined(separator: ",\r\n "))\r\n"
    }

    /// Reads a single mailbox as people write it, whose name may have commas without quotes: `Example, Inc.
    /// <a@example.com>`.
    private static func displayed(_ value: String) -> Mailbox? {
        let (bytes, bracket, blanks) = (value.utf8, UInt8(ascii: "<"), " \t\r\n".utf8)
        guard bytes.last == UInt8(ascii: ">"), let mark = bytes.firstIndex(of: bracket),
            mark == bytes.lastIndex(of: bracket), !bytes[..<mark].contains(where: { "@\"(".utf8.contains($0) })
        else { return nil }
        var words = bytes[..<mark].drop { blanks.contains($0) }
        while let last = words.last, blanks.contains(last) { words = words.dropLast() }
        let name = String(Substring(words))
        return Mailbox(
            String(Substring(bytes[mark...].dropFirst().dropLast())), name: name.isEmpty ? nil : name)
    }

    /// Returns a value that needs no encoding; it may exceed the recommended length of a line, but not the limit.
    /// Encoding would corrupt an identifier or a trace.
    private static func plain(_ value: String) -> String? {
        let isPlain = value.utf8.count <= 900 && value.utf8.allSatisfy { (0x20..<0x7F).contains($0) }
        return isPlain && !value.contains("=?") ? value : nil
    }
}
