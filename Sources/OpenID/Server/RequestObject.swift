import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Time
import Worlds

/// A request object: the parameters of an authorization request in a JWT that the client has signed.
/// <https://datatracker.ietf.org/doc/html/rfc9101>
enum RequestObject {
    /// The claims of a request object that aren't request parameters:
    /// <https://datatracker.ietf.org/doc/html/rfc9101#section-4>.
    private static let ownClaims: Set<String> = [
        "iss", "aud", "exp", "iat", "nbf", "jti", "sub", "request", "request_uri",
    ]

    /// Returns the parameters of an authorization request. If `form` has no field `request`, they are the fields of
    /// `form`. Otherwise, they are the parameters in the JWT that the field `request` contains, with the client's ID as
    /// `client_id`. All other fields of `form` are ignored then.
    static func resolve(
        _ form: Form, client: ClientCredentials, issuer: String, in exchange: Exchange
    ) throws(OAuthRefusal) -> Form {
        guard let text = form["request"] else { return form }
        let token: JWS
        do { token = try JWS(parsing: text) } catch { throw refusal("it can't be read: \(error.description)") }
        if let fault = client.fault(inSignatureOf: token) { throw refusal(fault) }
        if let fault = fault(in: token.claims, client: client.clientID, issuer: issuer, exchange) {
            throw refusal(fault)
        }
        // RFC 9101 section 6.3 ignores the query's other fields; OIDC Core section 6.1 would use them.
        var fields = [Form.Field(name: "client_id", value: client.clientID)]
        for (name, value) in token.claims.members where name != "client_id" && !ownClaims.contains(name) {
            fields.append(Form.Field(name: name, value: value.string ?? value.text))
        }
        return Form(fields: fields)
    }

    private static func fault(
        in claims: JSONObject, client: String, issuer: String, _ exchange: Exchange
    ) -> String? {
        if let named = claims["client_id"]?.string, named != client { return "client_id in it is another client's" }
        if let named = claims["iss"]?.string, named != client { return "iss must be the client_id" }
        if let audience = claims["aud"] {
            let all = audience.array ?? [audience]
            guard all.contains(.string(issuer)) else { return "aud must be the issuer, \(Diagnosis.quote(issuer))" }
        }
        let now = exchange.world.now
        if let expires = claims["exp"] {
            guard let time = expires.numericDate, time > now else { return "it has expired" }
        }
        if let begins = claims["nbf"] {
            guard let time = begins.numericDate, time <= now else { return "nbf lies in the future" }
        }
        return nil
    }

    private static func refusal(_ reason: String) -> OAuthRefusal {
        OAuthRefusal("invalid_request_object", Diagnosis("the request object is invalid: \(reason)"))
    }
}

/// A pushed authorization request, which a client has sent in advance: <https://datatracker.ietf.org/doc/html/rfc9126>.
struct PushedRequest: Row {
    static let uriPrefix = "urn:ietf:params:oauth:request_uri:"
    /// The time for which a pushed request is kept after it has expired. A person has this long to answer a sign-in
    /// page that is already open.
    private static let memory = TimeSpan.hours(1)

    static let table = Table<PushedRequest>(
        "oauth.pushed", limit: 10_000, byteLimit: 64 << 20, droppedAt: { $0.expires + memory },
        size: { $0.fields.utf8.count })
    /// The greatest size of a pushed request, in bytes of its encoded fields.
    static let sizeLimit = 64 << 10

    /// The `request_uri` of the pushed request.
    let key: String
    /// The client that has pushed the request: the issuer and the client ID.
    let owner: String
    /// The parameters of the pushed request, form-encoded.
    let fields: String
    let expires: Instant

    var form: Form { Form(parsing: fields) }
}

extension Transaction {
    /// Stores a client's pushed authorization request, which expires after `lifetime`.
    mutating func push(_ form: Form, of owner: String, for lifetime: TimeSpan) -> PushedRequest {
        let request = PushedRequest(
            key: PushedRequest.uriPrefix + Base64URL.encode(random.bytes(24)), owner: owner, fields: form.encoded,
            expires: now + lifetime)
        put(request)
        return request
    }
}

extension TableReading where Self: ~Copyable {
    /// Returns the pushed request with this `request_uri`. An expired request is refused, unless `isAnswer` is true:
    /// the person is answering a sign-in page that was shown before the request expired.
    func pushedRequest(_ uri: String, of owner: String, isAnswer: Bool) throws(OAuthRefusal) -> PushedRequest {
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
                "this client hasn't pushed such a request, or it was used already: push a new request"))
    }
}

// https://datatracker.ietf.org/doc/html/rfc9126#section-2

extension Issuer {
    /// Checks a pushed authorization request by the rules of the authorization endpoint, and stores it.
    func push(_ exchange: Exchange) throws -> Response {
        let form = try exchange.request.parameters()
        let client = try authenticate(exchange, form)
        guard form["request_uri"] == nil else {
            throw OAuthRefusal(
                "invalid_request",
                Diagnosis("a pushed request can't contain request_uri: push the request's own parameters"))
        }
        let known = AuthorizationParameters.names.subtracting(["client_id"])
        var kept = Form(fields: form.fields.filter { known.contains($0.name) })
        kept.fields.append(Form.Field(name: "client_id", value: client.clientID))
        var fields = try RequestObject.resolve(
            kept, client: client.credentials, issuer: identifier(exchange), in: exchange)
        if policy.dpop != .off, let proof = try serverProof(exchange) { try bind(&fields, to: proof) }
        _ = try redirectURI(fields, client)
        _ = try AuthorizationParameters(fields, client, policy)
        let wanted = Form(fields: fields.fields.filter { AuthorizationParameters.names.contains($0.name) })
        let size = wanted.encoded.utf8.count
        guard size <= PushedRequest.sizeLimit else {
            throw OAuthRefusal(
                "invalid_request", status: 413,
                Diagnosis(
                    received: "a request of \(size) bytes", expected: "at most \(PushedRequest.sizeLimit) bytes",
                    "push a shorter request"))
        }
        let pushed = try exchange.world.update { tables in
            tables.push(wanted, of: key(of: client), for: policy.lifetimes.pushedRequest)
        }
        return OAuthRefusal.json(
            ["request_uri": .string(pushed.key), "expires_in": .integer(policy.lifetimes.pushedRequest.seconds)],
            status: 201)
    }

    /// Binds a pushed request to the key of the client's DPoP proof:
    /// <https://datatracker.ietf.org/doc/html/rfc9449#section-10.1>.
    private func bind(_ fields: inout Form, to proof: DPoPProof) throws(OAuthRefusal) {
        guard let named = fields["dpop_jkt"] else {
            return fields.fields.append(Form.Field(name: "dpop_jkt", value: proof.thumbprint))
        }
        guard named != proof.thumbprint else { return }
        throw OAuthRefusal(
            "invalid_dpop_proof",
            Diagnosis(
                received:
                    "dpop_jkt \(Diagnosis.quote(named)) and a DPoP proof by the key \(Diagnosis.quote(proof.thumbprint))",
                "both must name the same key: leave dpop_jkt out, or sign with the key that dpop_jkt names"))
    }
}
