import EmulatorCore
import HTTPServer
import JOSE

// Client authentication at endpoints that read forms: <https://datatracker.ietf.org/doc/html/rfc6749#section-2.3>.
// Assertions follow <https://datatracker.ietf.org/doc/html/rfc7523#section-3>.

/// The part of a request that proves which client has sent it.
package struct ClientAuthentication: Sendable {
    package static let assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

    private enum Proof: Sendable {
        case none
        case basic((user: String, password: String))
        case post(secret: String)
        case assertion(JWS)

        /// The methods that this proof may belong to.
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

    package let clientID: String
    private let proof: Proof
    private let usesHeader: Bool

    package init(_ request: Request, _ form: Form) throws(OAuthRefusal) {
        let basic = BasicCredentials.read(request)
        let (secret, assertion) = (form["client_secret"], form["client_assertion"])
        usesHeader = request.header("Authorization")?.lowercased().hasPrefix("basic") ?? false
        guard [basic != nil, !(secret ?? "").isEmpty, assertion != nil].count(where: { $0 }) <= 1 else {
            throw OAuthRefusal(
                "invalid_request",
                Diagnosis(
                    expected: "one of Authorization: Basic, client_secret and client_assertion",
                    "a client authenticates in one way at a time"))
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
                    received: "client_id \(Diagnosis.quote(clientID)) and credentials of \(Diagnosis.quote(owner))",
                    "both must be of the same client"))
        }
    }

    private static func assertion(_ text: String, type: String?) throws(OAuthRefusal) -> JWS {
        guard type == assertionType else {
            throw OAuthRefusal(
                "invalid_client",
                Diagnosis(
                    received: "client_assertion_type \(Diagnosis.quote(type ?? "missing"))", expected: assertionType,
                    "send this type with a client_assertion"))
        }
        do { return try JWS(parsing: text) } catch {
            throw OAuthRefusal("invalid_client", Diagnosis("client_assertion can't be read: \(error.description)"))
        }
    }

    /// Decodes a name or a password of the header, which must be form-encoded: RFC 6749 §2.3.1. Returns `nil` if it
    /// can't be, because a `%` isn't followed by two hexadecimal digits.
    private static func formDecoded(_ text: String) -> String? {
        let bytes = Array(text.utf8)
        for place in bytes.indices where bytes[place] == UInt8(ascii: "%") {
            let digits = bytes[(place + 1)...].prefix(2)
            let isByte = digits.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0 | 0x20) }
            guard digits.count == 2, isByte else { return nil }
        }
        return String(decoding: PercentCoding.decode(bytes[...], plusIsSpace: true), as: UTF8.self)
    }

    /// Checks the proof. An assertion's `aud` must contain one of `audiences`.
    package func check(
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
        client.secret.map { constantTimeEquals(Array($0.utf8), Array(secret.utf8)) } ?? false
    }

    private func wrongSecret(_ client: ClientCredentials) -> OAuthRefusal {
        refusal("the client secret isn't the one that the seed has for \"\(client.clientID)\"")
    }

    /// Returns the refusal of an unknown client, for `reason`. `knows` returns whether a client ID exists.
    package func unknownClient(because reason: String, knows: (String) -> Bool) -> OAuthRefusal {
        guard !clientID.isEmpty else {
            return refusal("the request names no client: send client_id, Authorization: Basic or a client_assertion")
        }
        if case .basic(let sent) = proof, sent.user != clientID, knows(sent.user) { return unencoded("client ID") }
        return refusal(received: "client_id \(Diagnosis.quote(clientID))", reason)
    }

    /// Returns the refusal of a part that isn't form-encoded. RFC 6749, appendix B: `+` means a space, and `%` begins a
    /// byte.
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
