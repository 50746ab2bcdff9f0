import EmulatorCore
import HTTPServer
import JSON
import Time

/// The request parameter `claims`, by which a client requests individual claims about the person.
/// <https://openid.net/specs/openid-connect-core-1_0.html#ClaimsParameter>
package struct ClaimsParameter: Codable, Sendable {
    /// A request for one claim, from the parameter `claims`.
    package struct Wish: Codable, Sendable {
        package let isEssential: Bool
        /// The accepted values of the claim; empty if the client accepts any value.
        package let values: [JSONValue]
    }

    private static let limit = 100
    /// The greatest length of the parameter `claims`, in bytes. It is limited because its text is stored until the
    /// person's grant ends.
    private static let sizeLimit = 8_192

    package let idToken: [String: Wish]
    package let userInfo: [String: Wish]
    /// The approximate number of bytes that the requested claims take in memory.
    package let size: Int

    package init() { (idToken, userInfo, size) = ([:], [:], 0) }

    /// Reads the request parameter `claims`. If `text` is `nil`, no individual claims are requested.
    package init(_ text: String?) throws(OAuthRefusal) {
        guard let text else {
            (idToken, userInfo, size) = ([:], [:], 0)
            return
        }
        guard text.utf8.count <= ClaimsParameter.sizeLimit else {
            throw ClaimsParameter.refusal(
                "it has \(text.utf8.count) bytes; at most \(ClaimsParameter.sizeLimit) are read")
        }
        guard let value = try? JSONValue(parsing: Array(text.utf8), limits: .control), value.object != nil else {
            throw ClaimsParameter.refusal("it must be an object of JSON")
        }
        size = value.weight
        idToken = try ClaimsParameter.wishes(value["id_token"])
        userInfo = try ClaimsParameter.wishes(value["userinfo"])
    }

    private static func wishes(_ value: JSONValue?) throws(OAuthRefusal) -> [String: Wish] {
        guard let value, !value.isNull else { return [:] }
        guard let object = value.object, object.count <= limit else {
            throw refusal("its members id_token and userinfo must be objects of at most \(limit) claims")
        }
        return Dictionary(
            object.members.map { name, wish in
                let values = wish["values"]?.array ?? wish["value"].map { [$0] } ?? []
                return (name, Wish(isEssential: wish["essential"]?.bool ?? false, values: values))
            }, uniquingKeysWith: { first, _ in first })
    }

    private static func refusal(_ reason: String) -> OAuthRefusal {
        OAuthRefusal("invalid_request", Diagnosis("the parameter claims is invalid: \(reason)"))
    }
}

extension Form {
    /// The form without its empty fields, because an empty parameter counts as missing:
    /// <https://datatracker.ietf.org/doc/html/rfc6749#section-3.1>.
    package var withoutEmptyFields: Form { Form(fields: fields.filter { !$0.bytes.isEmpty }) }

    /// Refuses a form in which a parameter occurs twice: <https://datatracker.ietf.org/doc/html/rfc6749#section-3.2>.
    /// Only `resource` and `audience` may be repeated (RFC 8707 section 2, RFC 8693 section 2.1).
    package func checkRepetitions() throws(OAuthRefusal) {
        let single = fields.filter { $0.name != "resource" && $0.name != "audience" }
        guard let name = Form(fields: single).repeatedName else { return }
        throw OAuthRefusal(
            "invalid_request", Diagnosis("the parameter \(Diagnosis.quote(name)) occurs twice: send it once"))
    }

    /// The words of the parameter `response_type`, whose order doesn't matter.
    package var responseTypes: Set<String> { Set((self["response_type"] ?? "").split(separator: " ").map(String.init)) }

    /// Returns the value of a required parameter, or throws `invalid_request` if it is missing.
    package func required(_ name: String) throws(OAuthRefusal) -> String {
        if let value = self[name], !value.isEmpty { return value }
        throw OAuthRefusal("invalid_request", Diagnosis("\(name) is missing: send it"))
    }
}

extension Request {
    /// Returns the parameters of a request to an endpoint that reads forms.
    ///
    /// - Throws: `invalid_request` for a body that isn't a form, and for a parameter that occurs twice.
    package func parameters() throws(OAuthRefusal) -> Form {
        if contentType != "application/x-www-form-urlencoded", let reason = bodyThatIsNoForm {
            throw OAuthRefusal("invalid_request", reason)
        }
        let form = bodyForm.withoutEmptyFields
        try form.checkRepetitions()
        return form
    }
}

extension Request {
    /// The reason why no parameters could be read from the request's body, at an endpoint that reads only forms; `nil`
    /// if the body is a form or is empty.
    package var bodyThatIsNoForm: Diagnosis? {
        guard !body.isEmpty, contentType != "application/x-www-form-urlencoded" || body.holdsJSON else { return nil }
        let type = header("Content-Type").map { Diagnosis.quote($0) } ?? "no Content-Type"
        return Diagnosis(
            received: hasJSONBody || body.holdsJSON ? "a JSON body" : "a body with \(type)",
            expected: "application/x-www-form-urlencoded", "send the parameters as a form")
    }

    /// The reason why no parameters could be read from the request's body, at an endpoint that reads forms and JSON;
    /// `nil` if the body was read or is empty.
    package var unreadBody: Diagnosis? {
        guard !body.isEmpty else { return nil }
        let type = header("Content-Type").map { "Content-Type \(Diagnosis.quote($0))" } ?? "no Content-Type"
        guard hasJSONBody || body.holdsJSON else {
            guard contentType != "application/x-www-form-urlencoded" else { return nil }
            return Diagnosis(
                received: "a body with \(type)", expected: "application/x-www-form-urlencoded or application/json",
                "set Content-Type to the body's media type")
        }
        do {
            guard case .object = try JSONValue(parsing: body) else {
                return Diagnosis(
                    received: "a JSON body that isn't an object", "send the parameters as members of a JSON object")
            }
        } catch { return Diagnosis("the JSON body can't be read: \(error.description)") }
        guard !hasJSONBody else { return nil }
        return Diagnosis(
            received: "a JSON body with \(type)", expected: "Content-Type: application/json",
            "set Content-Type to the body's media type")
    }
}

extension Request {
    /// Returns the access token of the request. It is taken from the header `Authorization`, with one of `schemes` in
    /// any letter case, or from the parameter `access_token` of the query or of a form
    /// (<https://datatracker.ietf.org/doc/html/rfc6750#section-2>).
    package func accessToken(schemes: Set<String> = ["bearer"]) -> String? {
        let words = (header("Authorization") ?? "").split(separator: " ")
        if words.count == 2, schemes.contains(words[0].lowercased()) { return String(words[1]) }
        return queryForm["access_token"] ?? bodyForm["access_token"]
    }
}
