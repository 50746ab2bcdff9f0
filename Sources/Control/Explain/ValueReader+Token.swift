import EmulatorCore
import JOSE
import JSON
import Recordings
import Time

// Reads a JSON Web Token: header, claims, signature.

extension ValueReader {
    package func read(_ token: JWS, text: String, _ surroundings: TokenSurroundings) throws -> ReadToken {
        let kind = TokenKind(token, field: surroundings.field, reader: self)
        let issuer = provider(ofIssuer: token.claims["iss"]?.string ?? "")
        let words = ClaimWords(
            reader: self, token: token, kind: kind, issuer: issuer, surroundings: surroundings)
        let maker = surroundings.maker.map { ValueReader.title(of: $0) } ?? issuer.map { ValueReader.title(of: $0) }
        let isOfProvider = [TokenKind.idToken, .accessToken, .logoutToken, .notification].contains(kind)
        return ReadToken(
            title: kind.rawValue + (isOfProvider ? maker.map { " of \($0)" } ?? "" : ""),
            header: token.header.members.map { ReadMember($0.key, $0.value, words.header($0.key, $0.value)) },
            claims: token.claims.members.map { ReadMember($0.key, $0.value, words.claim($0.key, $0.value)) },
            missing: words.missing,
            signature: try kind == .clientSecret
                ? secretFindings(text, token) : signatureFindings(token, issuer: issuer, surroundings))
    }

    /// Returns the findings about a client secret (a JSON Web Token) by the rules of the provider that `aud` names, or
    /// of all providers if it names none.
    private func secretFindings(_ text: String, _ token: JWS) -> [ExplainedPart.Finding] {
        let meant = provider(ofIssuer: token.claims["aud"]?.string ?? "")
        for explainer in (meant.map { [$0] } ?? providers).explainers {
            let parts = explainer.explain(clientSecret: text, seed: world.seed, now: now)
            if let first = parts.first { return first.findings }
        }
        guard meant != nil else {
            return [
                .init(
                    holds: nil,
                    "the client secret isn't checked: aud names no provider of this test world, and only a provider has the client's key"
                )
            ]
        }
        return [
            .init(holds: nil, "the client secret isn't checked here: the provider checks it when a client sends it")
        ]
    }

    // MARK: - Signature

    /// Checks a token's signature with the signing keys of this test world, or with the secrets of the seed's clients.
    private func signatureFindings(
        _ token: JWS, issuer: (any Provider)?, _ surroundings: TokenSurroundings
    ) throws -> [ExplainedPart.Finding] {
        let name = token.algorithm ?? "missing"
        guard let algorithm = token.algorithm.flatMap({ Algorithm(rawValue: $0) }) else {
            guard name == "none" else {
                return [.init(holds: false, "alg is \(Diagnosis.quote(name)), which no provider here signs with")]
            }
            let client = token.claims["aud"]?.string ?? ""
            let isMeant =
                token.keyID == nil
                && (issuer as? any LeavesTokensUnsigned)?.leavesUnsigned(tokensFor: client, in: world) ?? false
                && token.signature.isEmpty
            return [
                .init(
                    holds: isMeant ? nil : false,
                    isMeant
                        ? "the token isn't signed: only Firebase SDKs in emulator mode accept such a token"
                        : "alg is none, and there is no signature: a server that accepts this token accepts any token")
            ]
        }
        if algorithm == .hs256 { return [sharedSecretFinding(token)] }
        let owners = keyOwners(preferring: surroundings.maker ?? issuer)
        guard let keyID = token.keyID else {
            let signer = owners.first { owner in
                world.keys[owner.owner].published.contains { $0.hasSigned(token) }
            }
            return [
                .init(
                    holds: false,
                    "the token's header has no kid"
                        + (signer.map { ", though the signature is by a key of \($0.title)" } ?? "")
                        + ": verifiers don't know which key to use")
            ]
        }
        return try keyFindings(token, keyID, owners)
    }

    private func keyFindings(
        _ token: JWS, _ keyID: String, _ owners: [(owner: KeyOwner, title: String)]
    ) throws -> [ExplainedPart.Finding] {
        let quoted = Diagnosis.quote(keyID)
        let found = try owners.lazy.compactMap { owner in
            try world.keys[owner.owner].known(keyID).map { (owner: owner, key: $0.key, state: $0.state) }
        }
        guard let known = found.first else {
            let published = owners.first.map { world.keys[$0.owner].published.map(\.id).joined(separator: ", ") } ?? ""
            return [
                .init(
                    holds: false,
                    "no signing key of this test world has the kid \(quoted)"
                        + (published.isEmpty ? "" : " (\(owners.first?.title ?? "") publishes \(published))")
                        + ": the token is from another world, from before a restart, or the real provider's")
            ]
        }
        guard known.key.hasSigned(token) else {
            let why =
                token.algorithm == known.key.algorithm.rawValue
                ? "the token was changed after it was signed, or made by somebody else"
                : "that key signs with \(known.key.algorithm.rawValue)"
            return [.init(holds: false, "the signature isn't by \(known.owner.title)'s key \(quoted): \(why)")]
        }
        let signed = "signed by \(known.owner.title)'s key \(quoted) (\(known.key.algorithm.rawValue))"
        switch known.state {
        case .published:
            let isCurrent = world.keys[known.owner.owner].signing(at: now, with: known.key.algorithm)?.id == keyID
            return [.init(holds: true, signed + ", which is published" + (isCurrent ? "" : "; another key signs now"))]
        case .withdrawn:
            let advice = "but the key was rotated out: a verifier that fetches the key set now doesn't find the key"
            return [.init(holds: false, "\(signed), \(advice)")]
        case .neverPublished:
            let advice = "but the key is never published, as a test requested: every verifier must refuse the token"
            return [.init(holds: false, "\(signed), \(advice)")]
        }
    }

    /// Explains a token that is signed with an HMAC. If the HMAC's secret is a provider's public key, the token
    /// deceives verifiers that believe the header's `alg`.
    private func sharedSecretFinding(_ token: JWS) -> ExplainedPart.Finding {
        for owner in keyOwners(preferring: nil) {
            for named in world.keys[owner.owner].published {
                guard let pem = try? named.key.publicPEM(), let secret = try? Key(secret: Array(pem.utf8)) else {
                    continue
                }
                if token.verify(with: secret, algorithm: .hs256) == .valid {
                    return .init(
                        holds: false,
                        "HS256 with \(owner.title)'s public key \(Diagnosis.quote(named.id)) as the secret: anybody could have made "
                            + "the token, and a verifier that trusts the header's alg accepts it")
                }
            }
        }
        // The client of an ID token, of an access token, or of an assertion.
        for name in ["aud", "client_id", "iss"] {
            let client = token.claims[name]?.string ?? ""
            let secrets = world.seed.sections.lazy.compactMap { $0.secret(ofClient: client) }
            guard let secret = secrets.first, let key = try? Key(secret: Array(secret.utf8)) else { continue }
            return token.verify(with: key, algorithm: .hs256) == .valid
                ? .init(holds: true, "signed with HS256 and the secret of client \(Diagnosis.quote(client))")
                : .init(holds: false, "signed with HS256, but not with the secret of client \(Diagnosis.quote(client))")
        }
        return .init(
            holds: nil,
            "signed with HS256 and a shared secret: not checked, because the seed has no secret for the client")
    }

    /// Returns the owners of all signing keys of this test world, each with the name of its provider. The owners at the
    /// provider `first` come before the others.
    private func keyOwners(preferring first: (any Provider)?) -> [(owner: KeyOwner, title: String)] {
        let ordered = providers.filter { $0.name == first?.name } + providers.filter { $0.name != first?.name }
        return ordered.flatMap { provider in
            (world.seed.section(named: provider.name)?.keys ?? []).map {
                (owner: $0.owner, title: ValueReader.title(of: provider))
            }
        }
    }
}
