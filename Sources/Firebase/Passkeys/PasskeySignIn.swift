import EmulatorCore
import JOSE
import JSON
import Time
import WebAuthn

// The methods v2 accounts/passkeySignIn:start and :finalize:
// https://sources.debian.org/data/main/p/python-googleapi/2.180.0-1/docs/dyn/identitytoolkit_v2.accounts.passkeySignIn.html
//
// Quirks: the start names no user; the passkey says who signs in. No second factor is asked for: an authenticator that
// has verified the person is two factors. What production does isn't documented.

extension FirebaseProvider {
    func startPasskeySignIn(_ call: FirebaseCall) throws -> FirebaseAnswer {
        let party = try call.relyingParty()
        let options: JSONValue = [
            "challenge": .string(try call.makeChallenge()), "timeout": FirebaseProvider.passkeyTimeout,
            "rpId": .string(party.id), "userVerification": "required",
        ]
        return FirebaseAnswer(["credentialRequestOptions": options])
    }

    func finalizePasskeySignIn(_ call: FirebaseCall) async throws -> FirebaseAnswer {
        let party = try call.relyingParty()
        guard let fields = try call.nested("authenticatorAuthenticationResponse") else {
            throw call.missingAuthenticatorResponse("authenticatorAuthenticationResponse")
        }
        let response = try PasskeyResponse(fields)
        guard let owner = call.read({ $0.user(passkey: response.id, in: call.pool) }),
            let passkey = owner.passkeys.first(where: { $0.id == response.id })
        else { throw call.unknownPasskey(response.id) }
        guard !owner.disabled else { throw FirebaseError.userIsDisabled(owner) }
        let assertion = try assertion(response, passkey, of: owner, at: party, call)
        let user = try call.update { tables -> User in
            guard var user = tables.find(User.self, owner.key),
                let place = user.passkeys.firstIndex(where: { $0.id == passkey.id })
            else { throw call.unknownPasskey(response.id) }
            guard let assertion else { return user }
            guard assertion.follows(user.passkeys[place].signCount) else {
                throw FirebaseError.invalidAuthenticator(
                    "the signature count is \(assertion.signCount), and was \(user.passkeys[place].signCount) before: the "
                        + "passkey was copied")
            }
            user.passkeys[place].signCount = assertion.signCount
            tables.put(user)
            return user
        }
        let agreed = try await call.agreeing(user, SignInEvent(method: "passkey"))
        let tokens = try call.openSession(agreed.user, provider: "passkey", customClaims: agreed.claims)
        return FirebaseAnswer(body: tokens.members)
    }

    /// Verifies an authenticator's signature at a sign-in with a passkey. Returns the verified assertion; `nil` for a
    /// fake passkey, which has no key.
    private func assertion(
        _ response: PasskeyResponse, _ passkey: Passkey, of user: User, at party: RelyingParty, _ call: FirebaseCall
    ) throws -> Assertion? {
        guard let publicKey = passkey.publicKey.flatMap({ Base64URL.decode($0) }) else { return nil }
        let client = try response.clientData()
        let authenticatorData = try response.bytes("authenticatorData")
        let signature = try response.bytes("signature")
        let userHandle = try response.userHandle()
        let challenge = try call.consumeChallenge(client)
        guard userHandle == nil || userHandle == Passkey.userHandle(of: user.localId) else {
            throw FirebaseError.invalidAuthenticator("userHandle names a different user than the passkey's")
        }
        do {
            return try Assertion(
                client, authenticatorData: authenticatorData, signature: signature, challenge: challenge,
                publicKey: publicKey, at: party)
        } catch {
            throw FirebaseError.invalidAuthenticator(error.description)
        }
    }
}

/// An authenticator's answer as a request sends it: `id` and `response`, as in the browser's `PublicKeyCredential`.
/// Google's discovery document gives the members other names, which are accepted, too. Bytes are in base64 or
/// base64url.
struct PasskeyResponse: Sendable {
    let id: String
    private let response: MessageFields?

    /// Reads an authenticator's answer from a request.
    ///
    /// - Throws: `INVALID_CREDENTIAL_ID`.
    init(_ fields: MessageFields) throws(FirebaseError) {
        let credentialID = try fields.text("credentialId")
        guard let text = try fields.text("id") ?? credentialID, text.utf8.count <= Passkey.longestID else {
            throw FirebaseError(
                "INVALID_CREDENTIAL_ID", because: "the passkey's credential ID is missing or longer than 1,023 bytes")
        }
        id = Passkey.id(text)
        let attestation = try fields.nested("authenticatorAttestationResponse")
        let assertion = try fields.nested("authenticatorAssertionResponse")
        response = try fields.nested("response") ?? attestation ?? assertion
    }

    /// Whether the authenticator's answer has an ID but no `response`. The Firebase emulator accepts such fake
    /// passkeys.
    var isFake: Bool { response == nil }

    /// Returns the `clientDataJSON` of an authenticator's answer.
    ///
    /// - Throws: `INVALID_AUTHENTICATOR_RESPONSE`.
    func clientData() throws(FirebaseError) -> ClientData {
        let other = try response?.text("clientDataJson")
        let bytes = try bytes("clientDataJSON", or: other)
        do { return try ClientData(parsing: bytes) } catch { throw .invalidAuthenticator(error.description) }
    }

    /// Returns the bytes in a field of an authenticator's answer.
    ///
    /// - Throws: `INVALID_AUTHENTICATOR_RESPONSE` if the field is missing, or isn't in base64 or base64url.
    func bytes(_ name: String, or other: String? = nil) throws(FirebaseError) -> [UInt8] {
        guard let text = try response?.text(name) ?? other else {
            throw .invalidAuthenticator("the field \(name) is missing")
        }
        guard let bytes = Base64URL.decode(text) ?? Base64.decode(text) else {
            throw .invalidAuthenticator("the field \(name) isn't base64url")
        }
        return bytes
    }

    /// Returns the user handle in an authenticator's answer; `nil` if there is none.
    func userHandle() throws(FirebaseError) -> [UInt8]? {
        guard try response?.text("userHandle") != nil else { return nil }
        return try bytes("userHandle")
    }
}

extension FirebaseError {
    /// Returns the error for an authenticator's answer that isn't valid. The Android SDK reports it as
    /// `ERROR_INVALID_AUTHENTICATOR_RESPONSE`.
    static func invalidAuthenticator(_ reason: String) -> FirebaseError {
        FirebaseError("INVALID_AUTHENTICATOR_RESPONSE", because: reason)
    }
}

extension FirebaseCall {
    /// Returns the WebAuthn relying party of the call's project.
    ///
    /// - Throws: `PASSKEY_NOT_ENABLED` if passkeys aren't configured or aren't enabled in the project.
    func relyingParty() throws(FirebaseError) -> RelyingParty {
        guard let party = project.relyingParty else {
            throw FirebaseError(
                "PASSKEY_NOT_ENABLED",
                because: "passkeys aren't enabled: enable the project's provider \"passkey\" in the seed")
        }
        return party
    }

    /// Makes and stores a passkey challenge, and returns it in base64 with padding. Firebase's SDK for Apple platforms
    /// reads no other form.
    func makeChallenge(for localId: String? = nil) throws -> String {
        try update { tables in
            let bytes = tables.random.bytes(32)
            tables.put(
                PasskeyChallenge(
                    token: Base64URL.encode(bytes), pool: pool, localId: localId,
                    expires: tables.now + PasskeyChallenge.lifetime))
            return Base64.encode(bytes)
        }
    }

    /// Checks the passkey challenge that an authenticator has signed, and deletes it, so that it works once.
    ///
    /// - Throws: `PASSKEY_CHALLENGE_TIMEOUT`, `INVALID_AUTHENTICATOR_RESPONSE`.
    func consumeChallenge(_ client: ClientData, for localId: String? = nil) throws -> String {
        let found = try update { tables -> (PasskeyChallenge, isLate: Bool)? in
            guard let challenge = tables.pop(PasskeyChallenge.self, client.challenge, where: { $0.pool == pool }) else {
                return nil
            }
            return (challenge, challenge.expires <= tables.now)
        }
        guard let (challenge, isLate) = found, challenge.localId == localId else {
            throw FirebaseError.invalidAuthenticator(
                "the challenge is unknown, is for another purpose, or was used already: get a new one")
        }
        guard !isLate else {
            throw FirebaseError(
                "PASSKEY_CHALLENGE_TIMEOUT",
                because:
                    "the passkey challenge is older than \(PasskeyChallenge.lifetime.seconds) seconds: get a new one")
        }
        return challenge.token
    }

    func missingAuthenticatorResponse(_ name: String) -> FirebaseError {
        FirebaseError("MISSING_AUTHENTICATOR_RESPONSE", because: "\(name) is missing")
    }

    /// Returns the error for a passkey that a user already has. The code is the one that the web SDK knows; in emulator
    /// mode it is the Firebase emulator's.
    func passkeyExists() -> FirebaseError {
        FirebaseError(
            isInEmulatorMode ? "CREDENTIAL_ALREADY_IN_USE" : "PASSKEY_EXISTS",
            because: "a user of the project already has this passkey")
    }

    /// Returns the error for a passkey that no user has. The code is the one that the web SDK knows; in emulator mode
    /// it is the Firebase emulator's.
    func unknownPasskey(_ id: String) -> FirebaseError {
        FirebaseError(
            isInEmulatorMode ? "PASSKEY_CREDENTIAL_NOT_FOUND" : "PASSKEY_ENROLLMENT_NOT_FOUND",
            because: "no user of the project has the passkey \(Diagnosis.quote(id))")
    }

    /// Returns the error for the deletion of a passkey that doesn't exist; `nil` in emulator mode, because the Firebase
    /// emulator ignores such a deletion.
    func missingPasskey() -> FirebaseError? { isInEmulatorMode ? nil : unknownPasskey("that is to be deleted") }
}
