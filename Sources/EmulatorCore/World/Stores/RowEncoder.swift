import JSON

/// Writes values as JSON, in one go.
///
/// It is what `JSONEncoder` writes, but that makes a tree first, which costs several times what the rest of a change in a store does.
/// Containers are ended by whatever is written next at an outer level, so a value has to finish a container before it goes on with
/// the one around it, as synthesized conformances do.
struct RowEncoder {
    static func encode(_ value: some Encodable) throws -> [UInt8] {
        let text = JSONText()
        try text.write(value)
        text.end(to: 0)
        return text.bytes
    }
}

/// JSON as it is being written. Nothing here calls back while it changes something, so Swift need not check that at run time, which
/// would take a third of the whole.
final class JSONText {
    @exclusivity(unchecked) fileprivate(set) var bytes: [UInt8] = []
    /// For each object or array that is open: what ends it, and whether it has a member already.
    @exclusivity(unchecked) private var open: [(end: UInt8, hasMember: Bool)] = []

    init() { bytes.reserveCapacity(512) }

    fileprivate var depth: Int { open.count }

    fileprivate func beginObject() { begin(UInt8(ascii: "{"), UInt8(ascii: "}")) }

    fileprivate func beginArray() { begin(UInt8(ascii: "["), UInt8(ascii: "]")) }

    private func begin(_ start: UInt8, _ end: UInt8) {
        bytes.append(start)
        open.append((end: end, hasMember: false))
    }

    fileprivate func end(to depth: Int) {
        while open.count > depth, let last = open.popLast() { bytes.append(last.end) }
    }

    /// Goes on in the container at this depth.
    fileprivate func nextMember(at depth: Int) {
        end(to: depth)
        guard let last = open.indices.last else { return }
        if open[last].hasMember { bytes.append(UInt8(ascii: ",")) }
        open[last].hasMember = true
    }

    fileprivate func key(_ name: String, at depth: Int) {
        nextMember(at: depth)
        write(name)
        bytes.append(UInt8(ascii: ":"))
    }

    fileprivate func write<Value: Encodable>(_ value: Value) throws {
        // Lists of texts are written often, and would ask for an encoder for each text.
        if Value.self == [String].self { return write(unsafeBitCast(value, to: [String].self)) }
        let (count, depth) = (bytes.count, open.count)
        try value.encode(to: ValueEncoder(text: self, outer: depth))
        // Whoever has nothing to say is an object without members.
        if bytes.count == count { write(ascii: "{}") }
        end(to: depth)
    }

    fileprivate func writeNull() { write(ascii: "null") }

    fileprivate func write(_ value: Bool) { write(ascii: value ? "true" : "false") }

    fileprivate func write(integer value: some FixedWidthInteger) {
        let text = String(value)
        bytes.append(contentsOf: text.utf8)
    }

    fileprivate func write(_ value: Double) throws {
        guard value.isFinite else {
            throw EncodingError.invalidValue(
                value, EncodingError.Context(codingPath: [], debugDescription: "JSON has no such number"))
        }
        let text = value.description
        bytes.append(contentsOf: text.hasSuffix(".0") ? text.utf8.dropLast(2) : text.utf8[...])
    }

    private func write(_ texts: [String]) {
        bytes.append(UInt8(ascii: "["))
        for (place, text) in texts.enumerated() {
            if place > 0 { bytes.append(UInt8(ascii: ",")) }
            write(text)
        }
        bytes.append(UInt8(ascii: "]"))
    }

    private func write(ascii text: StaticString) {
        bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    fileprivate func write(_ text: String) {
        var text = text
        bytes.append(UInt8(ascii: "\""))
        text.withUTF8 { utf8 in
            if utf8.isPlainInJSON {
                bytes.append(contentsOf: utf8)
            } else {
                for byte in utf8 { writeEscaped(byte) }
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private func writeEscaped(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
        case 0x0A: write(ascii: "\\n")
        case 0x0D: write(ascii: "\\r")
        case 0x09: write(ascii: "\\t")
        case 0..<0x20:
            write(ascii: "\\u00")
            for digit in [byte >> 4, byte & 15] { bytes.append(digit < 10 ? 0x30 + digit : 0x57 + digit) }
        default: bytes.append(byte)
        }
    }
}

/// Takes one value, whose containers stand within those up to `outer`.
private struct ValueEncoder: Encoder {
    let text: JSONText
    let outer: Int

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        // A value that asks twice goes on with the same object.
        if text.depth == outer { text.beginObject() }
        return KeyedEncodingContainer(ObjectEncoder(text: text, depth: outer + 1))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        if text.depth == outer { text.beginArray() }
        return ArrayEncoder(text: text, depth: outer + 1)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }
}

extension ValueEncoder: SingleValueEncodingContainer {
    func encodeNil() { text.writeNull() }
    func encode(_ value: Bool) { text.write(value) }
    func encode(_ value: String) { text.write(value) }
    func encode(_ value: Double) throws { try text.write(value) }
    func encode(_ value: Float) throws { try text.write(Double(value)) }
    func encode(_ value: Int) { text.write(integer: value) }
    func encode(_ value: Int8) { text.write(integer: value) }
    func encode(_ value: Int16) { text.write(integer: value) }
    func encode(_ value: Int32) { text.write(integer: value) }
    func encode(_ value: Int64) { text.write(integer: value) }
    func encode(_ value: UInt) { text.write(integer: value) }
    func encode(_ value: UInt8) { text.write(integer: value) }
    func encode(_ value: UInt16) { text.write(integer: value) }
    func encode(_ value: UInt32) { text.write(integer: value) }
    func encode(_ value: UInt64) { text.write(integer: value) }
    func encode(_ value: some Encodable) throws { try text.write(value) }
}

private struct ObjectEncoder<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let text: JSONText
    let depth: Int

    var codingPath: [any CodingKey] { [] }

    private func value(of key: Key) -> ValueEncoder {
        text.key(key.stringValue, at: depth)
        return ValueEncoder(text: text, outer: depth)
    }

    func encodeNil(forKey key: Key) { value(of: key).encodeNil() }
    func encode(_ value: Bool, forKey key: Key) { self.value(of: key).encode(value) }
    func encode(_ value: String, forKey key: Key) { self.value(of: key).encode(value) }
    func encode(_ value: Double, forKey key: Key) throws { try self.value(of: key).encode(value) }
    func encode(_ value: Float, forKey key: Key) throws { try self.value(of: key).encode(value) }
    func encode(_ value: Int, forKey key: Key) { self.value(of: key).encode(value) }
    func encode(_ value: Int8, forKey key: Key) { self.value(of: key).encode(value) }
    func encode(_ value: Int16, forKey key: Key) { self.value(of: key).encode(value) }
    func encode(_ value: Int32, forKey key: Key) { self.value(of: key).encode(value) }
    func encode(_ value: Int64, forKey key: Key) { self.value(of: key).encode(value) }
    func encode(_ value: UInt, forKey key: Key) { self.value(of: key).encode(value) }
    func encode(_ value: UInt8, forKey key: Key) { self.value(of: key).encode(value) }
    func encode(_ value: UInt16, forKey key: Key) { self.value(of: key).encode(value) }
    func encode(_ value: UInt32, forKey key: Key) { self.value(of: key).encode(value) }
    func encode(_ value: UInt64, forKey key: Key) { self.value(of: key).encode(value) }
    func encode(_ value: some Encodable, forKey key: Key) throws { try self.value(of: key).encode(value) }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        value(of: key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { value(of: key).unkeyedContainer() }

    func superEncoder() -> any Encoder {
        text.key("super", at: depth)
        return ValueEncoder(text: text, outer: depth)
    }

    func superEncoder(forKey key: Key) -> any Encoder { value(of: key) }
}

private struct ArrayEncoder: UnkeyedEncodingContainer {
    let text: JSONText
    let depth: Int
    private(set) var count = 0

    init(text: JSONText, depth: Int) {
        self.text = text
        self.depth = depth
    }

    var codingPath: [any CodingKey] { [] }

    private mutating func next() -> ValueEncoder {
        text.nextMember(at: depth)
        count += 1
        return ValueEncoder(text: text, outer: depth)
    }

    mutating func encodeNil() { next().encodeNil() }
    mutating func encode(_ value: Bool) { next().encode(value) }
    mutating func encode(_ value: String) { next().encode(value) }
    mutating func encode(_ value: Double) throws { try next().encode(value) }
    mutating func encode(_ value: Float) throws { try next().encode(value) }
    mutating func encode(_ value: Int) { next().encode(value) }
    mutating func encode(_ value: Int8) { next().encode(value) }
    mutating func encode(_ value: Int16) { next().encode(value) }
    mutating func encode(_ value: Int32) { next().encode(value) }
    mutating func encode(_ value: Int64) { next().encode(value) }
    mutating func encode(_ value: UInt) { next().encode(value) }
    mutating func encode(_ value: UInt8) { next().encode(value) }
    mutating func encode(_ value: UInt16) { next().encode(value) }
    mutating func encode(_ value: UInt32) { next().encode(value) }
    mutating func encode(_ value: UInt64) { next().encode(value) }
    mutating func encode(_ value: some Encodable) throws { try next().encode(value) }

    mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        next().container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { next().unkeyedContainer() }

    mutating func superEncoder() -> any Encoder { next() }
}
