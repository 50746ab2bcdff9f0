import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Time
import Worlds

/// A DPoP proof: a JWT by which a client proves that it has the key to which its tokens are bound.
/// <https://datatracker.ietf.org/doc/html/rfc9449>
struct DPoPProof: Sendable {
    /// The thumbprint of the client's key, by which tokens refer to the key:
    /// <https://datatracker.ietf.org/doc/html/rfc7638>.
    let thumbprint: String
    private let claims: JSONObject

    /// The longest time by which the client's clock may be ahead of this server's, and the greatest age of a DPoP
    /// proof.
    private static let tolerance = (ahead: TimeSpan.minutes(1), age: TimeSpan.minutes(5))

    /// Reads and checks the DPoP proof of a request, as RFC 9449 section 4.3 demands. Returns `nil` if the request has
    /// none.
    ///
    /// - Parameters:
    ///   - url: The address of the request.
    ///   - nonces: The accepted nonces, if the server demands one. Error responses tell clients the first of them.
    ///   - token: The access token of the request.
    init?(
        _ exchange: Exchange, at url: String, nonces: [String], token: String? = nil
    ) throws {
        let headers = exchange.request.headers.filter { $0.name.lowercased() == "dpop" }
        guard let text = headers.first?.value else { return nil }
        guard headers.count == 1 else { throw DPoPProof.refusal("there are \(headers.count) DPoP headers: send one") }
        let proof: JWS
        do { proof = try JWS(parsing: text) } catch {
            throw DPoPProof.refusal("it can't be read: \(error.description)")
        }
        claims = proof.claims
        for name in ["jti", "htm", "htu", "iat"] where claims[name] == nil {
            throw DPoPProof.refusal("\(name) is missing")
        }
        guard proof.header["typ"]?.string == "dpop+jwt" else { throw DPoPProof.refusal("typ must be \"dpop+jwt\"") }
        thumbprint = try DPoPProof.verify(proof)
        let (now, method) = (exchange.world.now, exchange.request.method)
        guard claims["htm"]?.string == method else {
            throw DPoPProof.refusal(
                received: "htm \(DPoPProof.shown(claims["htm"]))", expected: Diagnosis.quote(method),
                "sign the request's method")
        }
        let address = claims["htu"]?.string.map { String($0.prefix { $0 != "?" && $0 != "#" }) }
        guard address == url else {
            throw DPoPProof.refusal(
                received: "htu \(DPoPProof.shown(claims["htu"]))", expected: Diagnosis.quote(url),
                "sign the address to which the request goes, without its query")
        }
        if let nonce = nonces.first, !nonces.contains(claims["nonce"]?.string ?? "") {
            var refusal = OAuthRefusal(
                "use_dpop_nonce",
                Diagnosis(
                    received: "nonce \(DPoPProof.shown(claims["nonce"]))",
                    "sign another DPoP proof with the nonce of the header DPoP-Nonce, and send the request again"))
            refusal.nonce = nonce
            throw refusal
        }
        guard let time = claims["iat"]?.numericDate, time <= now + DPoPProof.tolerance.ahead,
            time > now - DPoPProof.tolerance.age
        else {
            throw DPoPProof.refusal(
                "iat isn't within the last \(DPoPProof.tolerance.age.inWords): sign a proof for each request")
        }
        if let token, claims["ath"]?.string != Base64URL.encode(Digest.sha256(token)) {
            throw DPoPProof.refusal("ath isn't the SHA-256 of the access token, in base64url")
        }
        try use(in: exchange)
    }

    /// Verifies the signature of a DPoP proof by the key in the proof, and returns the key's thumbprint.
    private static func verify(_ proof: JWS) throws(OAuthRefusal) -> String {
        guard let algorithm = proof.algorithm.flatMap({ Algorithm(rawValue: $0) }),
            Algorithm.published.contains(algorithm)
        else {
            throw refusal("alg must be one of \(Algorithm.published.map(\.rawValue).joined(separator: ", "))")
        }
        guard let jwk = proof.header["jwk"] else { throw refusal("the header has no jwk: put the public key there") }
        if let name = Key.privateMembers.first(where: { jwk[$0] != nil }) {
            throw refusal("jwk has \(name), which is private: put the public key there")
        }
        let key: Key
        do throws(KeyError) { key = try Key(jwk: jwk) } catch { throw refusal("jwk: \(error.description)") }
        guard proof.verify(with: key, algorithm: algorithm) == .valid else {
            throw refusal("the signature isn't the jwk's")
        }
        return Key.thumbprint(of: jwk)
    }

    /// Records the ID of the DPoP proof. A second use of the same proof is refused.
    private func use(in exchange: Exchange) throws {
        guard let id = claims["jti"]?.string, !id.isEmpty, id.utf8.count <= 256 else {
            throw DPoPProof.refusal("jti is empty or longer than 256 bytes")
        }
        let isNew = try exchange.world.update { tables in
            let row = UsedProof(
                key: "\(thumbprint) \(id)", expires: tables.now + DPoPProof.tolerance.age + DPoPProof.tolerance.ahead)
            if let used = tables.find(UsedProof.self, row.key), used.expires > tables.now { return false }
            tables.put(row)
            return true
        }
        guard isNew else { throw DPoPProof.refusal("its jti was used before: sign a proof for each request") }
    }

    private static func shown(_ value: JSONValue?) -> String {
        value.map { Diagnosis.quote($0.string ?? $0.text) } ?? "none"
    }

    static func refusal(received: String? = nil, expected: String? = nil, _ reason: String) -> OAuthRefusal {
        OAuthRefusal(
            "invalid_dpop_proof",
            Diagnosis(received: received, expected: expected, "the DPoP proof is invalid: \(reason)"))
    }
}

/// The ID of a used DPoP proof, which is kept until the proof expires.
struct UsedProof: Row {
    static let table = Table<UsedProof>("oauth.proof") { $0.expires }

    let key: String
    let expires: Instant
}

/// The rule for binding tokens to a client's key by DPoP.
enum DPoPPolicy: String, CaseIterable, Sendable {
    /// DPoP proofs are ignored.
    case off
    case optional
    case required
}

/// The secret from which an issuer makes the nonces for DPoP proofs.
struct ProofNonceKey: Row {
    static let table = Table<ProofNonceKey>("oauth.proofNonceKey", limit: 1_000)

    /// The issuer to which the secret belongs: the provider's name and the issuer's ID.
    let key: String
    /// The secret from which the nonces are made, in hexadecimal digits.
    let secret: String
}

extension Issuer {
    /// Returns the accepted nonces for DPoP proofs: one for the current period of five minutes, and one for the period
    /// before it. The list is empty if the issuer demands no nonce.
    func proofNonces(_ exchange: Exchange) throws -> [String] {
        try policy.asksForProofNonce ? [0, 1].map { try proofNonce(exchange, periodsAgo: $0) } : []
    }

    /// Returns the nonce for DPoP proofs in one period of five minutes. Only this server can compute the nonce.
    func proofNonce(_ exchange: Exchange, periodsAgo: Int64 = 0) throws -> String {
        let period = exchange.world.now.seconds / 300 - periodsAgo
        let code = Digest.hmacSHA256(key: try proofNonceKey(exchange.world), Array("\(period)".utf8))
        return Base64URL.encode(Array(code.prefix(18)))
    }

    private func proofNonceKey(_ world: World) throws -> [UInt8] {
        let known = world.read { $0.find(ProofNonceKey.self, realm) }
        let row =
            try known
            ?? world.update { tables in
                if let known = tables.find(ProofNonceKey.self, realm) { return known }
                let made = ProofNonceKey(key: realm, secret: Hex.encode(tables.random.bytes(32)))
                tables.put(made)
                return made
            }
        return Array(row.secret.utf8)
    }

    /// Returns the DPoP proof of a request to the token endpoint; `nil` if the issuer ignores proofs, or if the request
    /// has no proof and needs none.
    func tokenProof(_ exchange: Exchange) throws -> DPoPProof? {
        guard policy.dpop != .off else { return nil }
        if let proof = try serverProof(exchange) { return proof }
        guard policy.dpop == .required else { return nil }
        throw DPoPProof.refusal(
            "there is none, and this issuer binds its tokens (\"dpop\": \"required\"): send the header DPoP")
    }

    /// Reads and checks the DPoP proof of a request to one of the issuer's own endpoints; `nil` if the request has
    /// none.
    func serverProof(_ exchange: Exchange) throws -> DPoPProof? {
        let url = exchange.address.url(of: host, exchange.address.path)
        return try DPoPProof(exchange, at: url, nonces: proofNonces(exchange))
    }
}

extension OAuthRefusal {
    /// The response headers that scripts of other origins may read, at endpoints that read DPoP proofs:
    /// <https://datatracker.ietf.org/doc/html/rfc9449#section-8>.
    static let exposedHeaders = "WWW-Authenticate, DPoP-Nonce"

    /// The response that reports this error for a request with a DPoP-bound token. The response has a
    /// `WWW-Authenticate` challenge for DPoP: <https://datatracker.ietf.org/doc/html/rfc9449#section-7.1>.
    var proofResponse: Response {
        let refusal = OAuthRefusal.unauthorized(self)
        return refusal.response
    }

    /// Returns an OAuth error with a `WWW-Authenticate` challenge for DPoP. If the error's status is 403, it stays;
    /// otherwise it becomes 401.
    static func unauthorized(_ refusal: OAuthRefusal, _ parameters: String = "") -> OAuthRefusal {
        var changed = OAuthRefusal(
            refusal.name, status: refusal.status == 403 ? 403 : 401, description: refusal.description, refusal.diagnosis
        )
        changed.nonce = refusal.nonce
        changed.challenge =
            "DPoP error=\"\(refusal.name)\", error_description=\"\(refusal.description)\", \(proofAlgorithms)\(parameters)"
        return changed
    }

    /// The parameter `algs` of a DPoP challenge, which lists the accepted algorithms.
    private static let proofAlgorithms = "algs=\"\(Algorithm.published.map(\.rawValue).joined(separator: " "))\""

    /// Returns the error response to a request without an access token. It has no error name, and one challenge for
    /// each accepted scheme: <https://datatracker.ietf.org/doc/html/rfc9449#section-7.2>. `parameters` are added to
    /// each challenge.
    static func withoutToken(
        _ diagnosis: Diagnosis, dpop: DPoPPolicy = .off, parameters: String = ""
    ) -> Response {
        var challenges: [String] = []
        if dpop != .required { challenges.append(parameters.isEmpty ? "Bearer" : "Bearer \(parameters)") }
        if dpop != .off {
            challenges.append("DPoP \(proofAlgorithms)" + (parameters.isEmpty ? "" : ", \(parameters)"))
        }
        return Response(
            status: 401,
            headers: challenges.map { (name: "WWW-Authenticate", value: $0) }
                + [(name: "Cache-Control", value: "no-store")]
        ).diagnosed(diagnosis).known(by: OpenIDProvider.evidence.ofError("401"))
    }
}
