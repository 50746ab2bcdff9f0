import EmulatorCore
import JOSE
import JSON
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
        return FirebaseAnswer(body: JSONObject([("credentialRequestOptions", options)]))
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
        var body = JSONObject()
        try call.openSession(agreed.user, provider: "passkey", customClaims: agreed.claims).add(to: &body)
        return FirebaseAnswer(body: body)
    }

    /// Returns the authenticator's proof; `nil` for a fake passkey.
    private func assertion(
        _ response: PasskeyResponse, _ passkey: Passkey, of user: User, at party: RelyingParty, _ call: FirebaseCall
    ) throws -> Assertion? {
        guard let publicKey = passkey.publicKey.flatMap({ Base64URL.decode($0) }) else { return nil }
        let client = try response.clientData()
        let authenticatorData = try response.bytes("authenticatorData")
        let signature = try response.bytes("signature")
        let userHandle = try response.userHandle()
        let challenge = try call.takeChallenge(client)
        guard userHandle == nil || userHandle == Passkey.userHandle(of: user.localId) else {
            throw FirebaseError.invalidAuthenticator("userHandle is another user's than the passkey")
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
