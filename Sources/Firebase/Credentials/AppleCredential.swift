import HTTPServer
import JOSE
import JSON
import EmulatorCore
import Time

// A credential of apple.com: an ID token with the raw nonce, or a code from the web flow.
// https://firebase.google.com/docs/auth/ios/apple
//
// Quirks: an access_token that is there but empty is an "Invalid OAuth response". The name comes from the client, the
// first time only; there is never a photo.

extension FirebaseProvider {
    func appleIdentity(_ credential: Credential, _ call: FirebaseCall) async throws(FirebaseError) -> FederatedIdentity
    {
        guard let part = call.project.providers.apple else { throw FirebaseProvider.notConfigured("apple.com") }
        if credential.fields["access_token"] == "" {
            throw .invalidIdP(
                "Invalid OAuth response from apple.com",
                Diagnosis("access_token came without a value: leave it out, or pass the authorization code"))
        }
        var text = credential["id_token"]
        if let code = credential["code"], let redirectURI = credential.redirectURI {
            text = try await appleTokens(code: code, redirectURI: redirectURI, part, call)["id_token"]?.string
        }
        guard let text else { throw FirebaseProvider.noCredential(credential) }
        let audiences = (part.servicesID.map { [$0] } ?? []) + part.bundleIDs
        let rule = IDTokenRule(
            keys: (host: FirebaseProvider.appleHost, path: "/auth/keys"), issuers: appleIssuers(call),
            audiences: audiences)
        let token = try await call.verify(text, rule)
        let subject = token.claims["sub"]?.string ?? ""
        var identity = FederatedIdentity(providerId: "apple.com", rawId: subject)
        // In the web flow the nonce never left the server.
        if credential["code"] == nil || credential.redirectURI == nil {
            identity.nonce = try call.checkNonce(
                of: token, provider: "apple.com", subject: subject, rawNonce: credential["nonce"])
        }
        identity.email = token.claims["email"]?.string
        // Apple writes its Booleans as true or as "true".
        let verified = token.claims["email_verified"]
        identity.isEmailVerified = verified?.bool ?? (verified?.string == "true")
        if let name = credential.name {
            identity.firstName = name.given.isEmpty ? nil : name.given
            identity.lastName = name.family.isEmpty ? nil : name.family
            let full = [name.given, name.family].filter { !$0.isEmpty }.joined(separator: " ")
            identity.displayName = full.isEmpty ? nil : full
        }
        identity.idToken = text
        identity.accessToken = credential["access_token"]
        identity.rawUserInfo = JSONValue.object(token.claims).text
        return identity
    }

    private func appleIssuers(_ call: FirebaseCall) -> [String] {
        let own = "https://\(FirebaseProvider.appleHost)"
        guard call.exchange.world.seed.apple.issuer == .request else { return [own] }
        let address = call.exchange.address
        return [
            own, address.base(of: FirebaseProvider.appleHost), address.subdomainBase(of: FirebaseProvider.appleHost),
        ]
    }

    // MARK: - The token endpoint

    /// Redeems a code at Apple's token endpoint, as Firebase's servers do, with a client secret of their own.
    func appleTokens(
        code: String, redirectURI: String?, client: String? = nil,
        phrase: String = "https://appleid.apple.com, OAuth2 redirect uri is:", _ part: FirebaseSeed.ApplePart,
        _ call: FirebaseCall
    ) async throws(FirebaseError) -> JSONObject {
        let clientID = client ?? part.servicesID ?? part.bundleIDs.first ?? ""
        let secret = try appleClientSecret(clientID, part, call)
        let answer = await call.exchange.fetch(
            form: [
                ("grant_type", "authorization_code"), ("client_id", clientID), ("client_secret", secret),
                ("code", code),
                ("redirect_uri", redirectURI),
            ], FirebaseProvider.appleHost, "/auth/token")
        let body = (try? JSONValue(parsing: answer.body, limits: .answer))?.object ?? JSONObject()
        guard answer.status == 200 else {
            throw tokenFailure(
                phrase, redirectURI ?? call.project.handler, answer,
                error: body["error"]?.string ?? "unknown", client: clientID)
        }
        return body
    }

    /// In production's words, which show how its servers keep an answer.
    func tokenFailure(
        _ phrase: String, _ redirectURI: String, _ answer: Response, error: String, client: String
    ) -> FirebaseError {
        let inner = answer.header(Diagnosis.headerName).map { ": \($0)" } ?? ""
        return .invalidIdP(
            "Error getting access token from \(phrase) \(redirectURI), response: "
                + "OAuth2TokenResponse{params: error=\(error), httpMetadata: HttpMetadata{status=\(answer.status), "
                + "cachePolicy=NO_CACHE, cacheDuration=java.util.Optional[], staleWhileRevalidate=java.util.Optional[]}}",
            Diagnosis("the token endpoint refused the code for \"\(client)\"\(inner)"))
    }

    /// <https://developer.apple.com/documentation/accountorganizationaldatasharing/creating-a-client-secret>
    func appleClientSecret(
        _ clientID: String, _ part: FirebaseSeed.ApplePart, _ call: FirebaseCall
    ) throws(FirebaseError) -> String {
        guard let teamID = part.teamID, let keyID = part.keyID, let pem = part.privateKey,
            let key = call.exchange.world.seed.keys[pem]
        else {
            throw .invalidIdP(
                "Error getting access token from Apple. OAuth2 redirect uri is \(call.project.handler)",
                Diagnosis(
                    "the project's apple.com provider needs teamID, keyID and privateKeyFile for this: add them to the seed"
                ))
        }
        let now = call.exchange.world.now
        let claims = JSONObject([
            ("iss", .string(teamID)), ("iat", .numericDate(now)), ("exp", .numericDate(now + .minutes(5))),
            ("aud", .string("https://\(FirebaseProvider.appleHost)")), ("sub", .string(clientID)),
        ])
        do {
            return try JWS.mint(
                header: JSONObject([("alg", "ES256"), ("kid", .string(keyID))]), claims: claims, key: key,
                algorithm: .es256)
        } catch {
            throw FirebaseError("INTERNAL_ERROR", status: 500, because: error.description)
        }
    }
}
