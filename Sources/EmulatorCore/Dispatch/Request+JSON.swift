import HTTPServer
import JSON

extension Request {
    /// The body as JSON, whatever its content type: `curl -d` always sends that of a form.
    package var jsonBody: JSONValue? {
        guard body.holdsJSON else { return nil }
        return try? JSONValue(parsing: body)
    }
}

extension [UInt8] {
    /// Whether the text looks like a JSON object or array.
    package var holdsJSON: Bool {
        guard let byte = first(where: { $0 != 0x20 && $0 != 0x09 && $0 != 0x0A && $0 != 0x0D }) else { return false }
        return byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[")
    }
}
