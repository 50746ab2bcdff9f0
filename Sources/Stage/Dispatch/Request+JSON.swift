import HTTPServer
import JOSE

extension Request {
    /// The body as JSON, whatever it says that it is: `curl -d` calls everything a form.
    package var jsonBody: JSONValue? {
        guard body.holdsJSON else { return nil }
        return try? JSONValue(parsing: body)
    }
}

extension [UInt8] {
    /// Whether it looks like a JSON object or array.
    package var holdsJSON: Bool {
        first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }.map { $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "[") }
            ?? false
    }
}
