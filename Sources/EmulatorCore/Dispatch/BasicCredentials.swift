import HTTPServer
import JOSE
import Text

/// The header `Authorization: Basic`: <https://datatracker.ietf.org/doc/html/rfc7617>.
package enum BasicCredentials {
    package static func read(_ request: Request) -> (user: String, password: String)? {
        request.header("Authorization").flatMap { read(header: $0) }
    }

    /// Reads the user name and the password from a header's value.
    package static func read(header: String) -> (user: String, password: String)? {
        guard String(Substring(header.utf8.prefix(6))).equalsIgnoringASCIICase("basic "),
            let bytes = Base64.decode(Substring(header.utf8.dropFirst(6)).filter { $0 != " " })
        else { return nil }
        let text = String(decoding: bytes, as: UTF8.self)
        guard !text.hasEndlessMarks else { return nil }
        guard let colon = text.firstIndex(of: ":") else { return (user: text, password: "") }
        return (user: String(text[..<colon]), password: String(text[text.index(after: colon)...]))
    }
}
