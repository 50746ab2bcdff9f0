/// A data item of CBOR, of the kinds that authenticators write: whole numbers, byte strings, texts, arrays, maps,
/// Booleans and null, all of definite length. <https://www.rfc-editor.org/rfc/rfc8949>
///
/// Tags, floating-point numbers and items of indefinite length are refused, as CTAP2's canonical form excludes them.
/// <https://fidoalliance.org/specs/fido-v2.1-ps-20210615/fido-client-to-authenticator-protocol-v2.1-ps-errata-20220621.html#ctap2-canonical-cbor-encoding-form>
package indirect enum CBOR: Hashable, Sendable {
    case integer(Int64)
    case bytes([UInt8])
    case text(String)
    case array([CBOR])
    case map([CBOR: CBOR])
    case bool(Bool)
    case null

    /// The greatest depth of nested arrays and maps in CBOR, which is CTAP2's limit.
    package static let maximumDepth = 4

    /// The greatest length of a CBOR text in bytes. Authenticators write short texts, and comparing long ones with many
    /// combining marks takes quadratic time.
    package static let maximumText = 1_024

    /// Parses bytes that consist of a single CBOR item.
    package init(parsing bytes: [UInt8]) throws(WebAuthnError) {
        var reader = CBORReader(bytes[...])
        self = try reader.item()
        guard reader.rest.isEmpty else { throw WebAuthnError("CBOR has \(reader.rest.count) bytes behind its item") }
    }

    /// Returns the value for the whole number `key`; `nil` if this CBOR item isn't a map or has no such key.
    package subscript(key: Int64) -> CBOR? {
        guard case .map(let members) = self else { return nil }
        return members[.integer(key)]
    }

    /// Returns the value for the text `key`; `nil` if this CBOR item isn't a map or has no such key.
    package subscript(key: String) -> CBOR? {
        guard case .map(let members) = self else { return nil }
        return members[.text(key)]
    }

    package var integer: Int64? {
        guard case .integer(let value) = self else { return nil }
        return value
    }

    package var bytes: [UInt8]? {
        guard case .bytes(let value) = self else { return nil }
        return value
    }

    package var text: String? {
        guard case .text(let value) = self else { return nil }
        return value
    }

    package var array: [CBOR]? {
        guard case .array(let value) = self else { return nil }
        return value
    }

    package var isEmptyMap: Bool { self == .map([:]) }
}

/// A parser that reads CBOR items one after another. Its memory is proportional to the bytes read, even if an item
/// claims a larger length.
package struct CBORReader {
    package private(set) var rest: ArraySlice<UInt8>

    package init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    package mutating func item() throws(WebAuthnError) -> CBOR { try item(depth: 0) }

    private mutating func item(depth: Int) throws(WebAuthnError) -> CBOR {
        let first = try readBytes(1).first ?? 0
        let (kind, detail) = (first >> 5, first & 0x1F)
        if kind == 7 { return try simple(detail) }
        let argument = try argument(detail)
        switch kind {
        case 0: return .integer(try small(argument))
        case 1: return .integer(-1 - (try small(argument)))
        case 2: return .bytes(Array(try readBytes(count(argument, of: 1))))
        case 3:
            let bytes = try readBytes(count(argument, of: 1))
            guard bytes.count <= CBOR.maximumText else {
                throw WebAuthnError("a text in CBOR is longer than \(CBOR.maximumText) bytes")
            }
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw WebAuthnError("a text in CBOR isn't UTF-8")
            }
            return .text(text)
        case 4: return .array(try elements(argument, depth: depth + 1))
        case 5: return .map(try members(argument, depth: depth + 1))
        default: throw WebAuthnError("CBOR holds a tag")
        }
    }

    private func simple(_ detail: UInt8) throws(WebAuthnError) -> CBOR {
        switch detail {
        case 20: return .bool(false)
        case 21: return .bool(true)
        case 22: return .null
        default: throw WebAuthnError("CBOR holds a floating-point number or an unknown simple value")
        }
    }

    /// Reads the argument of a CBOR item, which follows the item's type: a value or a length.
    private mutating func argument(_ detail: UInt8) throws(WebAuthnError) -> UInt64 {
        switch detail {
        case ..<24: return UInt64(detail)
        case 24...27: return try readBytes(1 << Int(detail - 24)).reduce(0) { $0 << 8 | UInt64($1) }
        default: throw WebAuthnError("CBOR holds an item of indefinite or reserved length")
        }
    }

    private func small(_ argument: UInt64) throws(WebAuthnError) -> Int64 {
        guard let value = Int64(exactly: argument) else { throw WebAuthnError("a number in CBOR is too large") }
        return value
    }

    /// Checks the number of bytes, elements or members that a CBOR item claims to have. Each of these takes at least
    /// `size` bytes, so the unread bytes limit the number.
    private func count(_ argument: UInt64, of size: Int) throws(WebAuthnError) -> Int {
        guard let count = Int(exactly: argument), count <= rest.count / size else {
            throw WebAuthnError("CBOR ends before its item does")
        }
        return count
    }

    private mutating func readBytes(_ count: Int) throws(WebAuthnError) -> ArraySlice<UInt8> {
        guard count <= rest.count else { throw WebAuthnError("CBOR ends before its item does") }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    private mutating func elements(_ argument: UInt64, depth: Int) throws(WebAuthnError) -> [CBOR] {
        try check(depth)
        var elements: [CBOR] = []
        for _ in 0..<(try count(argument, of: 1)) { elements.append(try item(depth: depth)) }
        return elements
    }

    private mutating func members(_ argument: UInt64, depth: Int) throws(WebAuthnError) -> [CBOR: CBOR] {
        try check(depth)
        var members: [CBOR: CBOR] = [:]
        for _ in 0..<(try count(argument, of: 2)) {
            let key = try item(depth: depth)
            switch key {
            case .integer, .text: break
            default: throw WebAuthnError("a key of a map in CBOR is neither a number nor a text")
            }
            guard members.updateValue(try item(depth: depth), forKey: key) == nil else {
                throw WebAuthnError("a map in CBOR has a key twice")
            }
        }
        return members
    }

    private func check(_ depth: Int) throws(WebAuthnError) {
        guard depth <= CBOR.maximumDepth else {
            throw WebAuthnError("CBOR is nested deeper than \(CBOR.maximumDepth) levels")
        }
    }
}
