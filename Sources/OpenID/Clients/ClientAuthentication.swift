import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Recordings
import Time
import Worlds

// Client authentication at endpoints that read forms: <https://datatracker.ietf.org/doc/html/rfc6749#section-2.3>.
// Assertions follow <https://datatracker.ietf.org/doc/html/rfc7523#section-3>.

/// The client authentication in a request to an endpoint that reads forms.
struct ClientAuthentication: Sendable {
    static let assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

    private enum Proof: Sendable {
        case none
        case basic((user: String, password: String))
        case post(secret: String)
        case assertion(JWS)

        /// The client authentication methods that the request may be using.
        var methods: [ClientAuthenticationMethod] {
            switch self {
            case .none: [.none]
            case .basic: [.clientSecretBasic]
            case .post: [.clientSecretPost]
            case .assertion(let token):
                switch token.algorithm.flatMap({ Algorithm(rawValue: $0) }) {
                case .hs256: [.clientSecretJWT]
                case nil: [.clientSecretJWT, .privateKeyJWT]
                default: [.privateKeyJWT]
                }
            }
        }
    }

    let clientID: String
    private let proof: Proof
    private let usesHeader: Bool

    init(_ request: Request, _ form: Form) throws(OAuthRefusal) {
        let basic = BasicCredentials.read(request)
        let (secret, assertion) = (form["client_secret"], form["client_assertion"])
        usesHeader = request.header("Authorization")?.lowercased().hasPrefix("basic") ?? false
        guard [basic != nil, !(secret ?? "").isEmpty, assertion != nil].count(where: { $0 }) <= 1 else {
            throw OAuthRefusal(
                "invalid_request",
                Diagnosis(
                    expected: "only one of Authorization: Basic, client_secret and client_assertion",
                    "use only one method of client authentication"))
        }
        var owner: String?
        if let basic {
            owner = ClientAuthentication.formDecoded(basic.user) ?? basic.user
            proof = .basic(basic)
        } else if let assertion {
            let token = try ClientAuthentication.assertion(assertion, type: form["client_assertion_type"])
            owner = token.claims["sub"]?.string
            proof = .assertion(token)
        } else {
            proof = secret.flatMap { $0.isEmpty ? nil : .post(secret: $0) } ?? .none
        }
        clientID = form["client_id"] ?? owner ?? ""
        if let owner, owner != clientID {
            throw OAuthRefusal(
                "invalid_request",
                Diagnosis(
                    received:
                        "client_id \(Diagnosis.quote(clientID)) and credentials of client \(Diagnosis.quote(owner))",
                    "both must belong to the same client"))
        }
    }

    private static func assertion(_ text: String, type: String?) throws(OAuthRefusal) -> JWS {
        guard type == assertionType else {
            throw OAuthRefusal(
                "invalid_client",
                Diagnosis(
                    received: "client_assertion_type \(Diagnosis.quote(type ?? "missing"))", expected: assertionType,
                    "client_assertion must be sent with the type for JWT bearer assertions"))
        }
        do { return try JWS(parsing: text) } catch {
            throw OAuthRefusal("invalid_client", Diagnosis("client_assertion can't be read: \(error.description)"))
        }
    }

    /// Decodes the client ID or the secret of HTTP Basic authentication, both of which must be form-encoded: RFC 6749
    /// §2.3.1. Returns `nil` if a `%` isn't followed by two hexadecimal digits.
    private static func formDecoded(_ text: String) -> String? {
        let bytes = Array(text.utf8)
        for place in bytes.indices where bytes[place] == UInt8(ascii: "%") {
            let digits = bytes[(place + 1)...].prefix(2)
            let isByte = digits.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0 | 0x20) }
            guard digits.count == 2, isByte else { return nil }
        }
        return String(decoding: PercentCoding.decode(bytes[...], plusIsSpace: true), as: UTF8.self)
    }

    /// Checks that the request comes from the client. If the client authenticates by a JWT assertion, the assertion's
    /// `aud` must contain one of `audiences`.
    func check(
        _ client: ClientCredentials, audiences: [String], in exchange: Exchange
    ) throws {
        guard proof.methods.contains(where: { client.methods.contains($0) }) else {
            throw refusal(
                received: proof.methods.map(\.rawValue).joined(separator: " or "),
                expected: client.methods.map(\.rawValue).sorted().joined(separator: " or "),
                "authenticate as the seed has it for \"\(client.clientID)\" (tokenEndpointAuthMethod)")
        }
        switch proof {
        case .none: return
        case .basic(let sent):
            if ClientAuthentication.formDecoded(sent.user) == nil { throw unencoded("client ID") }
            // Clients that don't encode are common. Their secret is the same text unless it contains "%" or "+".
            guard let secret = ClientAuthentication.formDecoded(sent.password), holds(secret, client) else {
                throw holds(sent.password, client) ? unencoded("client secret") : wrongSecret(client)
            }
        case .post(let secret): if !holds(secret, client) { throw wrongSecret(client) }
        case .assertion(let token):
            if let fault = client.fault(inSignatureOf: token) { throw refusal("client_assertion: \(fault)") }
            if let fault = ClientAssertion(token).fault(audiences: audiences, now: exchange.world.now) {
                throw refusal("client_assertion: \(fault)")
            }
            guard try ClientAssertion(token).use(in: exchange) else {
                throw refusal("client_assertion: its jti was used before, and an assertion works once: sign a new one")
            }
        }
    }

    private func holds(_ secret: String, _ client: ClientCredentials) -> Bool {
        client.secret?.isSecret(secret) ?? false
    }

    private func wrongSecret(_ client: ClientCredentials) -> OAuthRefusal {
        refusal("the client secret isn't the one configured for \"\(client.clientID)\" in the seed")
    }

    /// Returns the error for an unknown client. `reason` says why the client is unknown, and `knows` returns whether a
    /// client ID exists.
    func unknownClient(because reason: String, knows: (String) -> Bool) -> OAuthRefusal {
        guard !clientID.isEmpty else {
            return refusal("the request names no client: send client_id, Authorization: Basic or a client_assertion")
        }
        if case .basic(let sent) = proof, sent.user != clientID, knows(sent.user) { return unencoded("client ID") }
        return refusal(received: "client_id \(Diagnosis.quote(clientID))", reason)
    }

    /// Returns the error for a client ID or a secret in HTTP Basic authentication that isn't form-encoded. By RFC 6749,
    /// appendix B, `+` means a space, and `%` begins a byte.
    private func unencoded(_ part: String) -> OAuthRefusal {
        refusal(
            "the \(part) in Authorization: Basic isn't form-encoded: encode ID and secret (application/x-www-form-urlencoded) "
                + "before the colon joins them, or send client_secret in the form")
    }

    private func refusal(
        received: String? = nil, expected: String? = nil, _ advice: String
    ) -> OAuthRefusal {
        var refusal = OAuthRefusal(
            "invalid_client", Diagnosis(received: received, expected: expected, advice))
        if usesHeader { refusal.challenge = "Basic realm=\"token\"" }
        return refusal
    }
}

/// A JSON Web Token with which a client authenticates: <https://datatracker.ietf.org/doc/html/rfc7523#section-3>.
struct ClientAssertion: Sendable {
    /// The longest time by which the client's clock may be ahead of this server's.
    private static let clockTolerance = TimeSpan.minutes(1)
    /// The longest lifetime of a client assertion. It is limited because the server remembers the `jti` of a used
    /// assertion until the assertion expires.
    private static let maximumLifetime = TimeSpan.days(1)

    private let claims: JSONObject

    init(_ token: JWS) { claims = token.claims }

    /// Returns the error in the claims of a client assertion, as a sentence; `nil` if there is none.
    func fault(audiences: [String], now: Instant) -> String? {
        let subject = claims["sub"]?.string
        guard subject != nil, claims["iss"]?.string == subject else {
            return "iss and sub must both be the client_id"
        }
        let audience = claims["aud"]?.array ?? claims["aud"].map { [$0] } ?? []
        guard audience.contains(where: { $0.string.map(audiences.contains) ?? false }) else {
            let found = claims["aud"].map { Diagnosis.quote($0.string ?? $0.text) } ?? "missing"
            return "aud is \(found): set it to \(Diagnosis.quote(audiences.first ?? ""))"
        }
        if let name = ["exp", "iat", "nbf"].first(where: { claims[$0]?.isInMilliseconds ?? false }) {
            return "\(name) is in milliseconds: JWT times are seconds since 1970"
        }
        guard let expires = claims["exp"]?.numericDate else {
            return "exp is missing, or not a whole number of seconds since 1970"
        }
        guard expires > now else { return "it expired \((now - expires).inWords) ago: sign a new one" }
        guard expires <= now + ClientAssertion.maximumLifetime else {
            return "exp is more than \(ClientAssertion.maximumLifetime.seconds) s ahead: let it live for minutes"
        }
        for name in ["iat", "nbf"] {
            guard let claim = claims[name] else { continue }
            guard let time = claim.numericDate, time <= now + ClientAssertion.clockTolerance else {
                return "\(name) lies in the future: check the clock of the machine that signs, and this world's"
            }
        }
        guard let id = claims["jti"]?.string, !id.isEmpty, id.utf8.count <= 256 else {
            return "jti is missing or longer than 256 bytes: give each assertion an identifier of its own"
        }
        return nil
    }

    /// Records that the client assertion has been used. Returns `false` if it was used before.
    func use(in exchange: Exchange) throws -> Bool {
        guard let subject = claims["sub"]?.string, let id = claims["jti"]?.string,
            let expires = claims["exp"]?.numericDate
        else { return false }
        let host = exchange.address.host ?? ""
        return try exchange.world.update { tables in
            let row = UsedAssertion(key: "\(host) \(subject) \(id)", expires: expires)
            if let used = tables.find(UsedAssertion.self, row.key), used.expires > tables.now { return false }
            tables.put(row)
            return true
        }
    }
}

/// The ID of a used client assertion, which is kept until the assertion expires.
struct UsedAssertion: Row {
    static let table = Table<UsedAssertion>("oauth.assertion") { $0.expires }

    let key: String
    let expires: Instant
}

/// The way in which a client authenticates:
/// <https://openid.net/specs/openid-connect-core-1_0.html#ClientAuthentication>.
enum ClientAuthenticationMethod: String, CaseIterable, Codable, Sendable {
    case none
    case clientSecretBasic = "client_secret_basic"
    case clientSecretPost = "client_secret_post"
    case clientSecretJWT = "client_secret_jwt"
    case privateKeyJWT = "private_key_jwt"
}

/// The secret or the keys by which a client authenticates, and the accepted authentication methods.
struct ClientCredentials: Sendable {
    let clientID: String
    let secret: String?
    let keys: KeySet?
    let methods: Set<ClientAuthenticationMethod>

    /// Whether the client can keep a secret: <https://datatracker.ietf.org/doc/html/rfc6749#section-2.1>.
    var isConfidential: Bool { !methods.contains(.none) }

    /// Returns the error in the signature of a token that the client should have signed, as a sentence; `nil` if the
    /// client has signed it.
    func fault(inSignatureOf token: JWS) -> String? {
        let name = token.algorithm ?? "missing"
        guard name != Algorithm.hs256.rawValue else {
            guard let secret else { return "alg is HS256, but \"\(clientID)\" has no secret" }
            guard let key = try? Key(secret: Array(secret.utf8)), token.verify(with: key, algorithm: .hs256) == .valid
            else { return "the signature isn't the client secret's: sign with HS256 and the secret's bytes as the key" }
            return nil
        }
        guard let keys, !keys.isEmpty else { return "the seed has no \"jwks\" for \"\(clientID)\"" }
        switch keys.fault(of: token, allowing: Algorithm.published) {
        case nil: return nil
        case .algorithm: return "alg is \(Diagnosis.quote(name)): sign with one that the discovery document lists"
        case .unknownKey:
            return
                "kid \(Diagnosis.quote(token.keyID ?? "missing")) isn't one of the client's keys in the seed, or not for \(name)"
        case .signature(.wrongKeyType): return "the client's key in the seed doesn't suit \(name)"
        case .signature(.derEncoded): return "the signature is ASN.1 DER: JOSE wants the bytes r and s joined"
        case .signature: return "the signature isn't the client's key's"
        }
    }
}
