import JOSE
import JSON
import EmulatorCore
import Text

// The official emulator's "fake" ID tokens are claims as JSON, or an unsigned JWT. They are accepted if the project has
// acceptFakeCredentials, so that a test suite written for that emulator can move over unchanged.
// https://firebase.google.com/docs/emulator-suite/connect_auth#third-party_authentication
//
// Quirks: only `sub` is needed; nothing is verified, and email_verified is believed. A SAML assertion is JSON, too, and
// is sent with such a token. A signed token is verified if the project has its provider; if not, it is accepted at the
// daemon's own address without a look at its signature, as in the official emulator.

extension FirebaseProvider {
    /// Reads a credential of the Firebase emulator's "fake" kind: an unsigned token, or claims as JSON. In emulator
    /// mode, a signed token counts as fake if the project doesn't have the identity provider. Returns `nil` for any
    /// other credential, and always if the project accepts no fake credentials.
    func fakeIdentity(
        _ credential: Credential, _ call: FirebaseCall, isConfigured: Bool
    ) throws(FirebaseError) -> FederatedIdentity? {
        guard call.project.takesFakes else { return nil }
        let texts = [credential["id_token"], credential["access_token"]].compactMap { $0 }
        let takesSigned = !isConfigured && call.isInEmulatorMode
        var claims: JSONObject?
        for text in texts where claims == nil {
            if text.hasPrefix("{") {
                guard let object = (try? JSONValue(parsing: text))?.object else {
                    throw .invalidIdP(
                        "Unable to parse id_token: \(text) ((Auth Emulator failed to parse fake id_token as strict JSON.))",
                        Diagnosis("the fake credential isn't valid JSON"))
                }
                claims = object
            } else if let token = try? JWS(parsing: takesSigned ? withoutSignature(text) : text) {
                if token.algorithm == "none" || takesSigned { claims = token.claims }
            } else if takesSigned, text == credential["id_token"] {
                // The message is that of firebase-tools: src/emulator/auth/operations.ts, parseIdToken of a fake
                // credential.
                throw .invalidIdP(
                    "Unable to parse id_token: \(text) ((Auth Emulator only accepts strict JSON or JWTs as fake id_tokens.))",
                    Diagnosis(
                        "the project has no such identity provider, so id_token must be a fake credential: JSON or a JWT"
                    ))
            }
        }
        guard let claims else { return nil }
        guard let subject = claims["sub"] else {
            throw .invalidIdP(
                "Invalid Idp Response: id_token missing required fields. ((Missing \"sub\" field. This field is required and "
                    + "must be a unique identifier.))", Diagnosis("the fake credential has no sub (user ID)"))
        }
        guard let rawId = subject.string, !rawId.isEmpty else {
            throw .invalidIdP(
                "((The \"sub\" field must be a string.))", Diagnosis("sub in the fake credential must be a string"))
        }
        var identity = FederatedIdentity(providerId: credential.providerId, rawId: rawId)
        identity.isFake = true
        identity.email = claims["email"]?.string?.lowercased()
        identity.isEmailVerified = claims["email_verified"].map { $0.bool ?? ($0.string == "true") } ?? false
        identity.displayName = claims["name"]?.string ?? claims["displayName"]?.string
        identity.photoUrl = claims["picture"]?.string ?? claims["photoUrl"]?.string
        identity.screenName = claims["screen_name"]?.string ?? claims["screenName"]?.string
        identity.idToken = credential["id_token"]
        identity.accessToken =
            credential["access_token"] ?? "FirebaseAuthEmulatorFakeAccessToken_\(credential.providerId)"
        identity.rawUserInfo = JSONValue.object(claims).text
        if credential.providerId == GoogleSource.id { identity.setGoogleProfile(claims) }
        if credential.providerId.hasPrefix("saml.") { try identity.readSAML(credential) }
        return identity
    }

    /// Returns the note on a signed ID token that was accepted unchecked, because the project doesn't have the identity
    /// provider. The note says for which reason a check would refuse the token. `nil` for any other credential.
    func noteOnUnchecked(_ identity: FederatedIdentity, _ call: FirebaseCall) throws -> Note? {
        guard identity.isFake, try call.text("pendingToken") == nil else { return nil }
        let fields = Credential.fields(of: try call.text("postBody") ?? "")
        guard let text = fields["id_token"], let token = try? JWS(parsing: withoutSignature(text)),
            token.algorithm != "none"
        else { return nil }
        let id = identity.providerId
        let rawNonce = fields["nonce"].flatMap { $0.isEmpty ? nil : $0 }
        let fault = try IdentitySources.source(id).flatMap {
            try call.fault(ofUnchecked: text, from: $0, rawNonce: rawNonce)
        }
        let audience = token.claims["aud"].map { Diagnosis.quote($0.string ?? $0.text) } ?? "none"
        let result = fault.map { "a check would refuse it (\($0))" } ?? "any aud is accepted (here \(audience))"
        let project = Diagnosis.quote(call.project.id)
        return Note(
            "the project \(project) has no provider \(Diagnosis.quote(id)) in a seed, so the ID token was accepted "
                + "unchecked: \(result); to have ID tokens checked, put the project with this provider into a seed")
    }
}

private func withoutSignature(_ token: String) -> String {
    token.lastIndex(ofASCII: ".").map { String(token[...$0]) } ?? token
}

extension FederatedIdentity {
    /// Sets the profile that Google would send for a real credential. Its values come from the claims of the fake
    /// credential.
    fileprivate mutating func setGoogleProfile(_ claims: JSONObject) {
        firstName = claims["given_name"]?.string
        lastName = claims["family_name"]?.string
        let scopes = "openid https://www.googleapis.com/auth/userinfo.profile"
        let raw = JSONObject([
            "granted_scopes": email == nil ? scopes : "\(scopes) https://www.googleapis.com/auth/userinfo.email",
            "id": rawId, "name": displayName, "given_name": firstName, "family_name": lastName,
            "verified_email": isEmailVerified, "locale": "en", "email": email, "picture": photoUrl,
        ])
        rawUserInfo = JSONValue.object(raw).text
    }

    /// Reads the fake credential's field `SAMLResponse`, which is JSON:
    /// `{"assertion":{"subject":{"nameId":…},"attributeStatements":{…}}}`.
    fileprivate mutating func readSAML(_ credential: Credential) throws(FirebaseError) {
        guard let text = credential["SAMLResponse"] else { return }
        guard let response = (try? JSONValue(parsing: text))?.object else {
            throw .invalidIdP("Unable to parse SAMLResponse.", Diagnosis("a fake SAMLResponse must be a JSON object"))
        }
        func missing(_ name: String) -> FirebaseError {
            FirebaseError(
                "INVALID_IDP_RESPONSE ((Missing \(name) in SAMLResponse.))",
                because: "a fake SAMLResponse needs assertion.subject.nameId")
        }
        guard let assertion = response["assertion"]?.object else { throw missing("assertion") }
        guard let subject = assertion["subject"]?.object else { throw missing("assertion.subject") }
        guard let nameID = subject["nameId"]?.string, !nameID.isEmpty else {
            throw missing("assertion.subject.nameId")
        }
        if TextRule.email.holds(nameID) { email = nameID }
        isEmailVerified = true
        let statements = assertion["attributeStatements"]
        attributes = CustomClaims(statements?.object ?? JSONObject())
        rawUserInfo = statements?.text ?? "{}"
    }
}
