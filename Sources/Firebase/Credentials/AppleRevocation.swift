import EmulatorCore
import HTTPServer
import JSON

// A code is redeemed at Apple first, with the project's Services ID, team and key, and then its grant is revoked.
// According to reports, a code from an app on a device needs the App ID in place of the Services ID; so the bundle IDs
// are tried, too, unless the seed says otherwise.

extension AppleSource: RevokingSource {
    private var clients: [String] {
        guard let servicesID else { return bundleIDs }
        return [servicesID] + (revokesNativeCodes ? bundleIDs : [])
    }

    func revoke(code: String, in call: FirebaseCall) async throws(FirebaseError) {
        // A code from the web was sent to the handler; one from a device has no redirect URI.
        var attempts: [(client: String, redirectURI: String?)] = []
        if let servicesID { attempts.append((client: servicesID, redirectURI: call.project.handler)) }
        attempts += clients.map { (client: $0, redirectURI: nil) }
        let phrase = "Apple. OAuth2 redirect uri is"
        var failures: [FirebaseError] = []
        for attempt in attempts {
            do throws(FirebaseError) {
                let tokens = try await self.tokens(
                    code: code, redirectURI: attempt.redirectURI, client: attempt.client, phrase: phrase, in: call)
                let refreshToken = tokens["refresh_token"]?.string ?? ""
                return try await post(refreshToken, type: "refresh_token", client: attempt.client, call)
            } catch {
                failures.append(error)
            }
        }
        // The last client is the one that apps on a device have, so its reason is the most likely to help.
        let reason =
            failures.last?.diagnosis
            ?? Diagnosis(
                "the project's apple.com provider has neither servicesID nor bundleIDs in the seed: add a client ID")
        let message =
            failures.first?.message
            ?? "INVALID_IDP_RESPONSE : Error getting access token from \(phrase) \(call.project.handler)"
        throw FirebaseError(message, diagnosis: reason)
    }

    func revoke(_ token: String, type: String, in call: FirebaseCall) async throws(FirebaseError) {
        for client in clients { try await post(token, type: type, client: client, call) }
    }

    /// Sends a token to Apple's revocation endpoint. Apple answers 200 to any token, so repeating this with several
    /// client IDs does no harm.
    private func post(_ token: String, type: String, client: String, _ call: FirebaseCall) async throws(FirebaseError) {
        let secret = try clientSecret(client, call)
        let answer = await call.exchange.fetch(
            form: [("client_id", client), ("client_secret", secret), ("token", token), ("token_type_hint", type)],
            AppleSource.host, "/auth/revoke")
        guard answer.status != 200 else { return }
        throw .invalidIdP(
            "Error revoking token at Apple: \(answer.text)",
            Diagnosis("Apple refused to revoke the token\(answer.becauseOfDiagnosis)"))
    }
}
