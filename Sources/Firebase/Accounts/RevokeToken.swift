import HTTPServer
import JSON
import EmulatorCore

// v2 accounts:revokeToken
// https://cloud.google.com/identity-platform/docs/reference/rest/v2/accounts/revokeToken
//
// Quirks: only for apple.com. The type comes by name, number or number in a text. A code is redeemed at Apple first, with
// the project's Services ID, team and key, and then its grant is revoked. Reports say that a code from an app on a device
// needs the App ID where the Services ID stands; here the bundle IDs are tried, too, unless the seed says otherwise.

extension FirebaseProvider {
    func revokeToken(_ call: FirebaseCall) async throws(FirebaseError) -> FirebaseAnswer {
        _ = try call.signedIn(call.text("idToken"))
        let providerId = try call.text("providerId") ?? ""
        guard providerId == "apple.com" else {
            throw FirebaseError(
                "INVALID_PROVIDER_ID",
                diagnosis: Diagnosis(
                    received: "providerId \(Diagnosis.quote(providerId))", expected: "apple.com",
                    "only Apple's tokens can be revoked"))
        }
        guard let part = call.project.providers[AppleSource.self] else {
            throw FirebaseProvider.notConfigured("apple.com")
        }
        guard part.isEnabled else {
            throw FirebaseError(
                "OPERATION_NOT_ALLOWED", "The identity provider configuration is disabled.",
                because: "the seed says \"enabled\": false for \"apple.com\"")
        }
        guard let token = try call.text("token") else {
            // What production says isn't documented.
            throw FirebaseError("INVALID_IDP_RESPONSE", "Missing token.", because: "token is missing")
        }
        switch call.value("tokenType") {
        case "3", "CODE": try await revoke(code: token, part, call)
        case "1", "REFRESH_TOKEN": try await revoke(token, type: "refresh_token", part, call)
        case "2", "ACCESS_TOKEN": try await revoke(token, type: "access_token", part, call)
        case let other:
            throw .wrongType(
                "token_type", "type.googleapis.com/google.cloud.identitytoolkit.v2.RevokeTokenRequest.TokenType",
                .string(other ?? "TOKEN_TYPE_UNSPECIFIED"))
        }
        return FirebaseAnswer(body: JSONObject())
    }

    private func clients(_ part: AppleSource) -> [String] {
        guard let servicesID = part.servicesID else { return part.bundleIDs }
        return [servicesID] + (part.revokesNativeCodes ? part.bundleIDs : [])
    }

    private func revoke(
        code: String, _ part: AppleSource, _ call: FirebaseCall
    ) async throws(FirebaseError) {
        // A code from the web was sent to the handler; one from a device has no redirect URI.
        var attempts: [(client: String, redirectURI: String?)] = []
        if let servicesID = part.servicesID { attempts.append((client: servicesID, redirectURI: call.project.handler)) }
        attempts += clients(part).map { (client: $0, redirectURI: nil) }
        let phrase = "Apple. OAuth2 redirect uri is"
        var failures: [FirebaseError] = []
        for attempt in attempts {
            do throws(FirebaseError) {
                let tokens = try await part.tokens(
                    code: code, redirectURI: attempt.redirectURI, client: attempt.client, phrase: phrase, in: call)
                let refreshToken = tokens["refresh_token"]?.string ?? ""
                return try await post(refreshToken, type: "refresh_token", client: attempt.client, part, call)
            } catch {
                failures.append(error)
            }
        }
        // The last client is the one that apps on a device have, so its reason is the likeliest to help.
        let reason =
            failures.last?.diagnosis
            ?? Diagnosis("the project's apple.com provider has neither servicesID nor bundleIDs in the seed")
        let message =
            failures.first?.message
            ?? "INVALID_IDP_RESPONSE : Error getting access token from \(phrase) \(call.project.handler)"
        throw FirebaseError(message, diagnosis: reason)
    }

    private func revoke(
        _ token: String, type: String, _ part: AppleSource, _ call: FirebaseCall
    ) async throws(FirebaseError) {
        for client in clients(part) { try await post(token, type: type, client: client, part, call) }
    }

    /// Apple says 200 to any token; what is revoked twice is revoked.
    private func post(
        _ token: String, type: String, client: String, _ part: AppleSource, _ call: FirebaseCall
    ) async throws(FirebaseError) {
        let secret = try part.clientSecret(client, call)
        let answer = await call.exchange.fetch(
            form: [("client_id", client), ("client_secret", secret), ("token", token), ("token_type_hint", type)],
            AppleSource.host, "/auth/revoke")
        guard answer.status != 200 else { return }
        let inner = answer.header(Diagnosis.headerName).map { ": \($0)" } ?? ""
        throw .invalidIdP(
            "Error revoking token at Apple: \(String(decoding: answer.body, as: UTF8.self))",
            Diagnosis("Apple refused the revocation\(inner)"))
    }
}
