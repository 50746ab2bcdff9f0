import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Time
import Worlds

// A workload has no secret, but a token of the platform that runs it, such as Kubernetes. For this token it gets an
// access token: https://datatracker.ietf.org/doc/html/rfc7523#section-2.1. For the Model Context Protocol, this is a
// proposal: https://github.com/modelcontextprotocol/modelcontextprotocol/pull/1933

/// A platform, such as Kubernetes, that gives tokens to its workloads. The workloads exchange these tokens for access
/// tokens.
struct WorkloadPlatform: SchemaObject {
    /// The `iss` of the tokens that a platform, such as Kubernetes, gives to the programs that it runs. The tokens must
    /// be signed by one of `keys`. If `keys` is `nil`, `issuer` is the ID of an issuer in the seed, which stands in for
    /// the platform and has its own keys.
    let issuer: String
    let keys: KeySet?
    private let clients: [String: String]

    init(_ fields: inout Fields) {
        issuer = fields(
            "issuer", .text(.nonEmpty),
            "The `iss` of the platform's tokens; without `jwks`, the id of an issuer of this file, which plays the platform."
        )
        let jwks = fields.nullable("jwks", .map(of: .any), "The platform's public keys, a JSON Web Key Set.")
        keys = jwks.map { KeySet(.object(JSONObject($0.map { ($0.name, $0.value) }))) }
        clients = Dictionary(
            fields.map(
                "clients", of: .text(.nonEmpty),
                "Client IDs, by `sub` of the platform's tokens. Other workloads are refused."
            ).map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
    }

    /// Returns the client ID of a workload (a program that a platform such as Kubernetes runs) by the `sub` of its
    /// tokens; `nil` if the seed gives no client ID for this `sub`.
    func client(of subject: String) -> String? { clients[subject] }

    /// The `sub` of each workload (a program that a platform such as Kubernetes runs) to which the seed gives a client
    /// ID.
    var subjects: [String] { clients.keys.sorted() }
}

extension Issuer {
    /// The longest time by which the clock of a platform, such as Kubernetes, may be ahead of this server's.
    private static let platformTolerance = TimeSpan.minutes(1)

    /// Returns the client of a request in which a program (a workload) sends a token of its platform, such as
    /// Kubernetes, instead of a client ID. The token is checked. Returns `nil` for any other request, and for an
    /// unknown or confidential client.
    func workload(_ exchange: Exchange, _ form: Form) throws(OAuthRefusal) -> ClientMetadata? {
        guard form["grant_type"] == IdentityAssertion.grantType, form["client_id"] == nil,
            form["client_assertion"] == nil, exchange.request.header("Authorization") == nil,
            let assertion = form["assertion"], isWorkloadToken(assertion)
        else { return nil }
        let id = try client(ofWorkload: assertion, exchange)
        guard let client = client(id, in: exchange.world), !client.isConfidential else { return nil }
        return client
    }

    /// Whether an assertion is a token that a platform such as Kubernetes gives to a program (a workload). All other
    /// assertions are identity assertions, which are tokens about people.
    func isWorkloadToken(_ assertion: String) -> Bool {
        guard !policy.workloadPlatforms.isEmpty, let token = try? JWS(parsing: assertion) else { return false }
        return token.header["typ"]?.string != IdentityAssertion.type
    }

    /// Issues an access token to a workload: a program that has sent a token of its platform, such as Kubernetes. There
    /// is no refresh token, because the program gets new tokens from the platform.
    func redeemWorkloadToken(
        _ exchange: Exchange, _ form: Form, _ client: ClientMetadata, _ thumbprint: String?
    ) throws -> Issued {
        let id = try self.client(ofWorkload: try form.required("assertion"), exchange)
        guard id == client.clientID else {
            throw refusal(
                received: "a token for \(Diagnosis.quote(id))", expected: Diagnosis.quote(client.clientID),
                "the client of the request must be the workload's: clients of workloadPlatforms")
        }
        let scopes = try AuthorizationParameters.scopes(form["scope"], among: client.scopes)
        let resources = try AuthorizationParameters.resources(form)
        return try exchange.world.update { tables in
            let grant = tables.makeGrant(client, at: self, account: "", scopes: scopes.filter { $0 != "openid" })
            let access = tables.makeAccessToken(
                grant, for: client, at: self, audience: resources, boundTo: thumbprint)
            return Issued(grant: grant, account: nil, access: access)
        }
    }

    /// Checks a token that a platform, such as Kubernetes, has given to a program (a workload). Returns the program's
    /// client ID. The rules are those of <https://datatracker.ietf.org/doc/html/rfc7523#section-3>.
    private func client(ofWorkload assertion: String, _ exchange: Exchange) throws(OAuthRefusal) -> String {
        let token: JWS
        do { token = try JWS(parsing: assertion) } catch { throw refusal("it can't be read: \(error.description)") }
        let (claims, now) = (token.claims, exchange.world.now)
        let platform = try platform(of: token, exchange)
        let own = identifier(exchange)
        let audiences = [own, "\(own)/", url(policy.paths.token, exchange)]
        let audience = claims["aud"].map { $0.array ?? [$0] } ?? []
        guard audience.contains(where: { $0.string.map(audiences.contains) ?? false }) else {
            let found = claims["aud"].map { Diagnosis.quote($0.string ?? $0.text) } ?? "missing"
            throw refusal(
                received: "aud \(found)", expected: Diagnosis.quote(own), "ask the platform for a token for this issuer"
            )
        }
        guard let expires = claims["exp"]?.numericDate, expires > now else {
            throw refusal("it has expired, or says no exp: ask the platform for another one")
        }
        for name in ["iat", "nbf"] {
            guard let claim = claims[name] else { continue }
            guard let time = claim.numericDate, time <= now + Issuer.platformTolerance else {
                throw refusal("\(name) lies in the future")
            }
        }
        let subject = claims["sub"]?.string ?? ""
        guard let id = platform.client(of: subject) else {
            throw refusal(
                received: "sub \(Diagnosis.quote(subject))", expected: Diagnosis.alternatives(platform.subjects),
                "name the workload's client in clients of workloadPlatforms of \"\(self.id)\" in the seed")
        }
        return id
    }

    /// Returns the platform, such as Kubernetes, whose key has signed a token.
    private func platform(of token: JWS, _ exchange: Exchange) throws(OAuthRefusal) -> WorkloadPlatform {
        let name = token.claims["iss"]?.string ?? ""
        for platform in policy.workloadPlatforms {
            guard let keys = platform.keys else {
                guard let issuer = seeded([platform.issuer], exchange).first,
                    issuer.identifiers(exchange).contains(name)
                else { continue }
                guard exchange.world.keys[issuer.owner].key(of: token)?.hasSigned(token) ?? false else {
                    throw refusal("it isn't signed by a key that its issuer publishes now")
                }
                return platform
            }
            guard platform.issuer == name else { continue }
            guard keys.fault(of: token, allowing: Algorithm.published) == nil else {
                throw refusal("it isn't signed by one of the platform's keys in the seed")
            }
            return platform
        }
        throw refusal(
            received: "iss \(Diagnosis.quote(name))",
            expected: Diagnosis.alternatives(policy.workloadPlatforms.map(\.issuer)),
            "name the platform in workloadPlatforms of \"\(id)\" in the seed")
    }

    private func refusal(received: String? = nil, expected: String? = nil, _ reason: String) -> OAuthRefusal {
        OAuthRefusal(
            "invalid_grant",
            Diagnosis(received: received, expected: expected, "the workload's token is invalid: \(reason)"))
    }
}
