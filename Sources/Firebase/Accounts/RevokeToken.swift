import HTTPServer
import JSON
import EmulatorCore

// The method v2 accounts:revokeToken:
// https://cloud.google.com/identity-platform/docs/reference/rest/v2/accounts/revokeToken
//
// Quirks: it only works for providers that revoke tokens for Firebase (`RevokingSource`). The type is a name, a number,
// or a number as a text.

extension FirebaseProvider {
    func revokeToken(_ call: FirebaseCall) async throws -> FirebaseAnswer {
        _ = try call.signedIn(call.text("idToken"))
        let providerId = try call.text("providerId") ?? ""
        let revoking = IdentitySources.revoking
        guard revoking.contains(where: { $0.id == providerId }) else {
            throw FirebaseError(
                "INVALID_PROVIDER_ID",
                diagnosis: Diagnosis(
                    received: "providerId \(Diagnosis.quote(providerId))",
                    expected: revoking.map { $0.id }.joined(separator: " or "),
                    "only \(revoking.map { "\($0.title)'s" }.joined(separator: " and ")) tokens can be revoked"))
        }
        let configured = knownSource(providerId, of: call.project, call.pool, in: call.exchange)
        guard let source = configured as? any RevokingSource else {
            throw FirebaseProvider.notConfigured(providerId)
        }
        guard source.isEnabled else {
            throw FirebaseError(
                "OPERATION_NOT_ALLOWED", "The identity provider configuration is disabled.",
                because: "the provider \(Diagnosis.quote(providerId)) is configured with \"enabled\": false")
        }
        guard let token = try call.text("token") else {
            // Production's message isn't documented.
            throw FirebaseError("INVALID_IDP_RESPONSE", "Missing token.", because: "token is missing")
        }
        switch call.value("tokenType") {
        case "3", "CODE": try await source.revoke(code: token, in: call)
        case "1", "REFRESH_TOKEN": try await source.revoke(token, type: "refresh_token", in: call)
        case "2", "ACCESS_TOKEN": try await source.revoke(token, type: "access_token", in: call)
        case let other:
            throw FirebaseError.wrongType(
                "token_type", "type.googleapis.com/google.cloud.identitytoolkit.v2.RevokeTokenRequest.TokenType",
                .string(other ?? "TOKEN_TYPE_UNSPECIFIED"))
        }
        return FirebaseAnswer(body: JSONObject())
    }
}
