import JOSE
import JSON
import EmulatorCore

// The official emulator's "fake" ID tokens: claims as JSON, or an unsigned JWT. Taken when the project says
// acceptFakeCredentials, so that a suite written for it can move over unchanged.
// https://firebase.google.com/docs/emulator-suite/connect_auth#third-party_authentication
//
// Quirks: only `sub` is needed; nothing is verified, and email_verified is believed.

extension FirebaseProvider {
    /// `nil` for a credential that isn't fake.
    func fakeIdentity(_ credential: Credential, _ call: FirebaseCall) throws(FirebaseError) -> FederatedIdentity? {
        guard call.project.takesFakes else { return nil }
        let texts = [credential["id_token"], credential["access_token"]].compactMap { $0 }
        var claims: JSONObject?
        for text in texts where claims == nil {
            if text.hasPrefix("{") {
                guard let object = (try? JSONValue(parsing: text))?.object else {
                    throw .invalidIdP(
                        "Unable to parse id_token: \(text) ((Auth Emulator failed to parse fake id_token as strict JSON.))",
                        Diagnosis("the fake credential isn't JSON"))
                }
                claims = object
            } else if let token = try? JWS(parsing: text), token.algorithm == "none" {
                claims = token.claims
            }
        }
        guard let claims else { return nil }
        guard let subject = claims["sub"] else {
            throw .invalidIdP(
                "Invalid Idp Response: id_token missing required fields. ((Missing \"sub\" field. This field is required and "
                    + "must be a unique identifier.))", Diagnosis("the fake credential has no sub"))
        }
        guard let rawId = subject.string, !rawId.isEmpty else {
            throw .invalidIdP(
                "((The \"sub\" field must be a string.))", Diagnosis("the fake credential's sub isn't a string"))
        }
        var identity = FederatedIdentity(providerId: credential.providerId, rawId: rawId)
        identity.email = claims["email"]?.string
        identity.isEmailVerified = claims["email_verified"].map { $0.bool ?? ($0.string == "true") } ?? false
        identity.isFake = true
        identity.displayName = claims["name"]?.string ?? claims["displayName"]?.string
        identity.photoUrl = claims["picture"]?.string ?? claims["photoUrl"]?.string
        identity.screenName = claims["screen_name"]?.string ?? claims["screenName"]?.string
        identity.idToken = credential["id_token"]
        identity.accessToken =
            credential["access_token"] ?? "FirebaseAuthEmulatorFakeAccessToken_\(credential.providerId)"
        identity.rawUserInfo = JSONValue.object(claims).text
        return identity
    }
}
