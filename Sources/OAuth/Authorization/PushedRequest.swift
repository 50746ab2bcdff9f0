import EmulatorCore
import HTTPServer
import JOSE
import Time

/// A pushed authorization request, which a client has sent in advance: <https://datatracker.ietf.org/doc/html/rfc9126>.
package struct PushedRequest: Row {
    package static let uriPrefix = "urn:ietf:params:oauth:request_uri:"
    /// The time for which it is kept after its expiry, because an open page may be answered later.
    private static let memory = TimeSpan.hours(1)

    package static let table = Table<PushedRequest>("oauth.pushed", limit: 10_000) { $0.expires + memory }
    /// The most bytes of its encoded fields.
    static let sizeLimit = 64 << 10

    /// The `request_uri`.
    package let key: String
    /// The key of the client at its issuer.
    let owner: String
    /// The request's fields, encoded.
    let fields: String
    let expires: Instant

    package var form: Form { Form(parsing: fields) }
}

extension Transaction {
    /// Stores a client's request for `lifetime`.
    package mutating func push(_ form: Form, of owner: String, for lifetime: TimeSpan) -> PushedRequest {
        let request = PushedRequest(
            key: PushedRequest.uriPrefix + Base64URL.encode(random.bytes(24)), owner: owner, fields: form.encoded,
            expires: now + lifetime)
        put(request)
        return request
    }
}

extension TableReading where Self: ~Copyable {
    /// Returns the request with this URI. With `isAnswer`, for a page's own form, it may have expired.
    package func pushedRequest(_ uri: String, of owner: String, isAnswer: Bool) throws(OAuthRefusal) -> PushedRequest {
        guard let request = find(PushedRequest.self, uri), request.owner == owner else {
            throw .unknownPushedRequest(uri)
        }
        guard request.expires > now || isAnswer else {
            throw OAuthRefusal(
                "invalid_request_uri",
                Diagnosis("the pushed request expired \((now - request.expires).inWords) ago: push a new one"))
        }
        return request
    }
}

extension OAuthRefusal {
    static func unknownPushedRequest(_ uri: String) -> OAuthRefusal {
        OAuthRefusal(
            "invalid_request_uri",
            Diagnosis(
                received: "request_uri \(Diagnosis.quote(uri))",
                "this client has pushed no such request, or it was answered: push a new one"))
    }
}
