import HTTPServer
import JOSE
import JSON
import Text

extension Request {
    /// The ID of the client that the request names: in its fields, in its credentials, or in the authorization request
    /// within a sign-in page's form.
    package var namedClient: String? { namedClient(jsonBody) }

    /// Returns the ID of the client that the request names, for a body that has been parsed as JSON already.
    package func namedClient(_ json: @autoclosure () -> JSONValue?) -> String? {
        let query = queryForm
        let body = bodyForm
        for form in [body, query] {
            if let client = form["client_id"] ?? form["app_id"] { return client }
            if let client = form.carriedRequest?["client_id"] { return client }
            if let target = form["return_to"], let mark = target.firstIndex(of: "?"),
                let client = Form(parsing: target[mark...].dropFirst())["client_id"]
            {
                return client
            }
        }
        if let object = json(), let client = object["client_id"]?.string ?? object["client"]?.string {
            return client
        }
        return BasicCredentials.read(self).flatMap { holdsToken($0) ? nil : $0.user }
    }

    /// Whether the user name in Basic credentials is an access token, which GitHub's REST API accepts there. If the
    /// password is empty and the request has a form, the user name is taken for a client ID.
    package func holdsToken(_ basic: (user: String, password: String)) -> Bool {
        basic.password == "x-oauth-basic" || basic.password.isEmpty && bodyForm.fields.isEmpty
    }
}

/// The header `Authorization: Basic`: <https://datatracker.ietf.org/doc/html/rfc7617>.
package enum BasicCredentials {
    package static func read(_ request: Request) -> (user: String, password: String)? {
        request.header("Authorization").flatMap { read(header: $0) }
    }

    /// Reads the user name and the password from the value of a header `Authorization: Basic`.
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

extension Request {
    /// The body of the request as JSON, whatever its content type. For example, `curl -d` always sends the content type
    /// of a form.
    package var jsonBody: JSONValue? {
        guard body.holdsJSON else { return nil }
        return try? JSONValue(parsing: body)
    }
}

extension [UInt8] {
    /// Whether the bytes look like a JSON object or array.
    package var holdsJSON: Bool {
        guard let byte = first(where: { $0 != 0x20 && $0 != 0x09 && $0 != 0x0A && $0 != 0x0D }) else { return false }
        return byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[")
    }
}

extension Form {
    /// The authorization request that is carried within a sign-in page's form.
    package var carriedRequest: Form? {
        self["request"].flatMap { Base64URL.decode($0) }.map { Form(parsing: $0) }
    }
}
