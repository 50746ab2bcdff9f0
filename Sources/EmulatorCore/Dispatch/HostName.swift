/// Rules for host names: <https://www.rfc-editor.org/rfc/rfc1123#section-2.1>.
package enum HostName {
    /// Returns whether the text is a DNS name in lower case, and not an address. If `isLocal`, a machine's own name, it
    /// may have capitals and underscores, as container engines give out, and be a number.
    package static func isValid(_ name: String, isLocal: Bool = false) -> Bool {
        let labels = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
        func isAllowed(_ byte: UInt8) -> Bool {
            isDigit(byte) || byte == UInt8(ascii: "-") || (0x61...0x7A).contains(isLocal ? byte | 0x20 : byte)
                || isLocal && byte == UInt8(ascii: "_")
        }
        return name.utf8.count <= 253
            && labels.allSatisfy { label in
                (1...63).contains(label.count) && label.allSatisfy { isAllowed($0) }
                    && label.first != UInt8(ascii: "-") && label.last != UInt8(ascii: "-")
            } && (isLocal || !(labels.last?.allSatisfy { isDigit($0) } ?? true))
    }
}
