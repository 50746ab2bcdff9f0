import HTTPServer
import JSON

extension FuzzTarget {
    /// Reads JSON, and checks that the value, when it is written, reads the same.
    static let json = FuzzTarget("json") { bytes in
        guard let value = try? JSONValue(parsing: bytes) else { return }
        let written = value.serialized()
        guard let again = try? JSONValue(parsing: written) else {
            throw Finding("written so that it can't be read: \(value.text)")
        }
        try require(again.serialized() == written, "another text every time: \(value.text), then \(again.text)")
        guard let indented = try? JSONValue(parsing: value.indented()) else {
            throw Finding("indented so that it can't be read: \(value.indented())")
        }
        try require(indented.serialized() == written, "indented, it is something else: \(value.text)")
        try checkCost(bytes)
    }

    /// Reads the text many times over, as elements and as members. If the time grows faster than the text, the fuzzer
    /// reports a timeout.
    private static func checkCost(_ bytes: [UInt8]) throws {
        guard FuzzDaemon.costLimit != nil, bytes.count > 2, bytes.reduce(0, ^) & 0x1F == 0 else { return }
        var elements: [UInt8] = [UInt8(ascii: "[")]
        var members: [UInt8] = [UInt8(ascii: "{")]
        var count = 0
        while elements.count < 1 << 19 {
            if count > 0 { elements.append(UInt8(ascii: ",")) }
            if count > 0 { members.append(UInt8(ascii: ",")) }
            elements += bytes
            members += Array("\"\(count)\":".utf8) + bytes
            count += 1
        }
        _ = try? JSONValue(parsing: elements + [UInt8(ascii: "]")])
        _ = try? JSONValue(parsing: members + [UInt8(ascii: "}")])
    }
}
