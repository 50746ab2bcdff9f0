import HTTPServer
import JOSE
import JSON
import EmulatorCore
import Synchronization
import Time
import Worlds

// The checks that Firebase makes of a provider's ID token, in order: form, signature, issuer, audience, subject,
// expiry, then the nonce. The messages are production's; the relative order of the middle checks isn't documented.

/// The requirements that an identity provider's ID token must meet: its keys, issuers, audiences and algorithms.
struct IDTokenRule: Sendable {
    /// The host and the path at which the identity provider publishes its signing keys.
    let keys: (host: String, path: String)
    let issuers: [String]
    /// The audiences that an ID token may have. Error texts name the first one.
    let audiences: [String]
    var algorithms: [Algorithm] = [.rs256]
}

/// A cache of the signing keys that identity providers publish. A key set is parsed again only if its text has changed.
final class KeySetCache: WorldCache {
    var count: Int { sets.withLock { $0.count } }

    /// The greatest number of key sets in the cache. It is more than the number of identity providers in most tests.
    private static let limit = 16
    private let sets = Mutex<[String: (text: [UInt8], keys: KeySet)]>([:])

    /// Returns the keys in the key set `text`, from the cache if possible. `place` is the key set's host and path.
    func keys(_ place: String, _ text: [UInt8]) -> KeySet {
        if let known = sets.withLock({ $0[place] }), known.text == text { return known.keys }
        let keys = KeySet((try? JSONValue(parsing: text, limits: .answer)) ?? .null)
        sets.withLock { sets in
            if sets.count >= KeySetCache.limit { sets = [:] }
            sets[place] = (text: text, keys: keys)
        }
        return keys
    }
}

extension FirebaseCall {
    /// The time by which an identity provider's clock may be ahead. It isn't documented.
    private static let tolerance = TimeSpan.minutes(5)

    func verify(_ text: String, _ rule: IDTokenRule) async throws(FirebaseError) -> JWS {
        let token: JWS
        do { token = try JWS(parsing: text) } catch {
            throw .invalidIdP(
                "Unable to parse the ID Token.", Diagnosis("the ID token can't be parsed: \(error.description)"))
        }
        let answer = await exchange.fetch("GET", rule.keys.host, rule.keys.path)
        let keys = exchange.world.caches[KeySetCache.self].keys("\(rule.keys.host)\(rule.keys.path)", answer.body)
        let unnamed: KeySet.Fault? = token.keyID == nil ? .unknownKey : nil
        if let fault = keys.fault(of: token, allowing: rule.algorithms) ?? unnamed {
            let reason = FirebaseCall.reason(for: fault, of: token, rule.algorithms)
            throw .invalidIdP(
                "Unable to verify the ID Token signature.",
                foreignIssuer(of: token.claims, expected: rule.issuers)
                    ?? Diagnosis("the ID token's signature is invalid: \(reason)"))
        }
        try checkClaims(token.claims, rule)
        return token
    }

    /// Returns the reason why the signature of an ID token is refused.
    private static func reason(for fault: KeySet.Fault, of token: JWS, _ algorithms: [Algorithm]) -> String {
        switch fault {
        case .algorithm:
            "its alg is \(Diagnosis.quote(token.algorithm ?? "missing")), not "
                + algorithms.map(\.rawValue).joined(separator: " or ")
                + ": get a new one from the provider"
        case .unknownKey:
            "no key \(Diagnosis.quote(token.keyID ?? "")) is published, so the token was issued elsewhere, "
                + "or the key was rotated away: get a new one"
        case .signature: "the signature isn't that key's: send the token unchanged, as the provider issued it"
        }
    }

    private func checkClaims(_ claims: JSONObject, _ rule: IDTokenRule) throws(FirebaseError) {
        let issuer = claims["iss"]?.string ?? ""
        guard rule.issuers.contains(issuer) else {
            throw .invalidIdP(
                "The issuer in ID Token \(issuer) does not match the expected one in config: \(rule.issuers[0]).",
                foreignIssuer(of: claims, expected: rule.issuers)
                    ?? Diagnosis(
                        received: "iss \(Diagnosis.quote(issuer))", expected: Diagnosis.alternatives(rule.issuers),
                        "the ID token wasn't issued by this provider: send the providerId of the one that issued "
                            + "it"))
        }
        let audiences = claims["aud"]?.array?.compactMap(\.string) ?? [claims["aud"]?.string ?? ""]
        guard audiences.contains(where: { rule.audiences.contains($0) }) else {
            let known = rule.audiences.map { Diagnosis.quote($0) }.joined(separator: " or ")
            throw .invalidIdP(
                "The audience in ID Token [\(audiences.joined(separator: ", "))] does not match the expected audience "
                    + "\(rule.audiences.first ?? "").",
                Diagnosis(
                    received: "aud \(Diagnosis.quote(audiences.joined(separator: ", ")))",
                    expected: known.isEmpty ? nil : known,
                    "the ID token was issued to another client ID: add it to the project's provider in the seed, or sign in with the right client ID"
                ))
        }
        guard claims["sub"]?.string.map({ !$0.isEmpty }) ?? false else {
            throw .invalidIdP(
                "ID Token does not contain user's identity in 'sub' claim: \(JSONValue.object(claims).text)",
                Diagnosis("the ID token has no sub (user ID): get one that has it"))
        }
        let now = exchange.world.now
        guard let reason = staleness(claims, now) else { return }
        throw .invalidIdP("ID Token issued at \(claims["iat"]?.integer ?? 0) is stale to sign-in.", Diagnosis(reason))
    }

    /// Parts of the issuers of identity providers that Firebase knows by name, with the providers' IDs in Firebase.
    private static let issuerParts = [
        (part: AppleSource.host, id: AppleSource.id), (part: "accounts.google.com", id: GoogleSource.id),
        (part: "facebook.com", id: FacebookSource.id),
    ]

    /// Returns the ID of the provider that Firebase knows by name and that has this issuer; `nil` if there is none.
    private static func knownProvider(ofIssuer issuer: String) -> String? {
        issuerParts.first { issuer.contains($0.part) }?.id
    }

    /// Returns a diagnosis that names the provider that issued an ID token, if it is another one than the provider with
    /// the issuers `expected`. `nil` if the token is of this provider, or of an unknown one.
    func foreignIssuer(of claims: JSONObject, expected: [String]) -> Diagnosis? {
        guard let issuer = claims["iss"]?.string, !expected.contains(issuer) else { return nil }
        let known = FirebaseCall.knownProvider(ofIssuer: issuer)
        if let known, expected.contains(where: { FirebaseCall.knownProvider(ofIssuer: $0) == known }) { return nil }
        let openID = read { $0.rows(OAuthIdpConfig.byPool, pool, limit: 100) }.first { $0.issuer == issuer }?.id
        let advice: String
        if issuer.hasPrefix(FirebaseProvider.issuerPrefix) {
            advice = "but by Firebase itself: send the identity provider's ID token"
        } else if let id = known ?? openID {
            advice = "but by \(id): send providerId=\(id), or this provider's ID token"
        } else {
            return nil
        }
        return Diagnosis(
            received: "iss \(Diagnosis.quote(issuer))", expected: Diagnosis.alternatives(expected),
            "the ID token wasn't issued by this provider, \(advice)")
    }

    /// Returns the reason for which Firebase would refuse an ID token that was accepted unchecked; `nil` if there is
    /// none, or if the provider's ID tokens can't be checked. The audience isn't checked. The token's nonce counts as
    /// used from now on.
    func fault(
        ofUnchecked text: String, from source: any KnownSource.Type, rawNonce: String?
    ) throws -> String? {
        let token: JWS
        do { token = try JWS(parsing: text) } catch { return "it can't be parsed: \(error.description)" }
        let issuers: [String]? =
            switch source.id {
            case AppleSource.id: AppleSource.issuers(self)
            case GoogleSource.id: GoogleSource.issuers
            case FacebookSource.id: FacebookSource.issuers
            default: nil
            }
        guard let issuers, let owner = source.keyOwner else { return nil }
        if let foreign = foreignIssuer(of: token.claims, expected: issuers) { return foreign.line }
        let unnamed: KeySet.Fault? = token.keyID == nil ? .unknownKey : nil
        if let fault = KeySet(exchange.keySet(owner)).fault(of: token, allowing: [.rs256]) ?? unnamed {
            return "its signature is invalid: \(FirebaseCall.reason(for: fault, of: token, [.rs256]))"
        }
        let issuer = token.claims["iss"]?.string ?? ""
        guard issuers.contains(issuer) else { return "its iss is \(Diagnosis.quote(issuer))" }
        if let reason = staleness(token.claims, exchange.world.now) { return reason }
        // Firebase reads no nonce in Google's ID tokens.
        guard source.id != GoogleSource.id else { return nil }
        do {
            _ = try checkNonce(
                of: token, from: source, subject: token.claims["sub"]?.string ?? "", rawNonce: rawNonce)
            return nil
        } catch let error as FirebaseError {
            return error.diagnosis.line
        }
    }

    /// Returns the reason why `iat` or `exp` of an ID token isn't valid at present; `nil` if both are valid.
    private func staleness(_ claims: JSONObject, _ now: Instant) -> String? {
        let issued = claims["iat"]?.numericDate
        guard issued != nil || claims["iat"] == nil else {
            return "the ID token's iat isn't a whole number of seconds from 1970 to the year 9999"
        }
        if let issued, issued > now + FirebaseCall.tolerance {
            return "the ID token was issued \((issued - now).inWords) in the future: a clock is wrong"
        }
        guard let expires = claims["exp"]?.numericDate else {
            return "the ID token's exp is missing, or not a whole number of seconds from 1970 to the year 9999"
        }
        return expires > now ? nil : "the ID token expired \((now - expires).inWords) ago: get a new one"
    }

    /// Checks the nonce of an ID token, after all other checks. If the token has a nonce, the request must contain the
    /// matching raw nonce, and no earlier request may have presented the nonce together with a raw nonce.
    func checkNonce(
        of token: JWS, provider id: String, called title: String, subject: String, rawNonce: String?
    ) throws -> String? {
        // A token without a nonce is accepted, whatever the request has.
        guard let nonce = token.claims["nonce"]?.string, !nonce.isEmpty else { return nil }
        func refuse(_ detail: String, _ diagnosis: String) -> FirebaseError {
            FirebaseError("MISSING_OR_INVALID_NONCE", detail, because: diagnosis)
        }
        let comparison = NonceComparison(tokenNonce: nonce, rawNonce: rawNonce)
        guard let rawNonce else {
            throw refuse("Nonce is missing in the request.", comparison.explanation(provider: title))
        }
        let use = SpentNonce(
            key: SpentNonce.Key(pool: pool, providerId: id, subject: subject, nonce: nonce), request: exchange.id
        )
        let earlier = try update { tables -> SpentNonce? in
            if let earlier = tables.find(SpentNonce.self, use.key) { return earlier }
            tables.put(use)
            return nil
        }
        if let earlier {
            throw refuse(
                "Duplicate credential received. Please try again with a new credential.",
                "request \(earlier.request) has presented this person's nonce already, which uses it up whatever came of it: get a "
                    + "credential with a new nonce, or use the updated one (pendingToken) if that refusal has brought it"
            )
        }
        guard comparison == .matches else {
            throw refuse(
                "The nonce in ID Token \"\(nonce)\" does not match the SHA256 hash of the raw nonce \"\(rawNonce)\" in the "
                    + "request.", comparison.explanation(provider: title))
        }
        return nonce
    }

    /// Checks the nonce in an ID token of an identity provider that Firebase knows by name, such as Apple.
    func checkNonce(
        of token: JWS, from source: any KnownSource.Type, subject: String, rawNonce: String?
    ) throws -> String? {
        try checkNonce(of: token, provider: source.id, called: source.title, subject: subject, rawNonce: rawNonce)
    }
}

/// A nonce of an ID token that a request has presented together with a raw nonce, whether its sign-in succeeded or not.
/// The nonce stays used even if the user is deleted.
struct SpentNonce: PoolRow {
    struct Key: TableKey {
        let pool: UserPool
        let providerId: String
        let subject: String
        let nonce: String

        var keyText: String { String(keyParts: pool.project, pool.tenant, providerId, subject, nonce) }
    }

    static let table = Table<SpentNonce>(
        "firebase.spentNonce", byteLimit: 64 << 20, indexes: [byPool], size: { $0.key.keyText.utf8.count })
    static let byPool = Index<SpentNonce, UserPool>("pool") { $0.pool }

    let key: Key
    /// The ID of the request that presented the nonce.
    let request: String

    var pool: UserPool { key.pool }
}
