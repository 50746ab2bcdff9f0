import EmulatorCore
import JOSE
import JSON
import WebAuthn

// The methods v2 accounts/passkeyEnrollment:start and :finalize:
// https://sources.debian.org/data/main/p/python-googleapi/2.180.0-1/docs/dyn/identitytoolkit_v2.accounts.passkeyEnrollment.html
//
// Quirks: passkeys are a preview: their only documentation is Google's discovery document, and what the SDKs' branches
// send and read. If the project takes fake credentials, an answer with an `id` and nothing else is believed, as in the
// official emulator.

extension FirebaseProvider {
    /// The `timeout` in the WebAuthn options, in milliseconds: the time for which the browser waits for the person. It
    /// is as in the Firebase emulator.
    static let passkeyTimeout: JSONValue = 60_000

    func startPasskeyEnrollment(_ call: FirebaseCall) throws -> FirebaseAnswer {
        let party = try call.relyingParty()
        let user = try call.signedIn(call.text("idToken")).user
        let known = user.passkeys.filter { $0.publicKey != nil }.compactMap { Base64URL.decode($0.id) }
        let name = user.email ?? user.phoneNumber ?? user.localId
        let options: JSONValue = [
            "rp": ["name": .string(party.id), "id": .string(party.id)],
            "user": [
                "id": .string(Base64.encode(Passkey.userHandle(of: user.localId))), "name": .string(name),
                "displayName": .string(user.displayName ?? name),
            ],
            "challenge": .string(try call.makeChallenge(for: user.localId)),
            "pubKeyCredParams": [["type": "public-key", "alg": -7], ["type": "public-key", "alg": -257]],
            "timeout": FirebaseProvider.passkeyTimeout,
            "excludeCredentials": .array(known.map { ["type": "public-key", "id": .string(Base64.encode($0))] }),
            // A sign-in doesn't name the user, so the authenticator must know the user.
            "authenticatorSelection": [
                "residentKey": "required", "requireResidentKey": true, "userVerification": "required",
            ],
            "attestation": "none",
        ]
        return FirebaseAnswer(["credentialCreationOptions": options])
    }

    func finalizePasskeyEnrollment(_ call: FirebaseCall) throws -> FirebaseAnswer {
        let party = try call.relyingParty()
        let idToken = try call.required("idToken")
        guard let fields = try call.nested("authenticatorRegistrationResponse") else {
            throw call.missingAuthenticatorResponse("authenticatorRegistrationResponse")
        }
        let signedIn = try call.signedIn(idToken)
        let displayName = try call.text("displayName")
        let name = try call.text("name") ?? displayName ?? "Unnamed Passkey"
        guard name.unicodeScalars.count <= 256 else {
            throw FirebaseError.invalidArgument("name has more than 256 characters")
        }
        let response = try PasskeyResponse(fields)
        let passkey = try passkey(response, name, of: signedIn.user, at: party, call)
        let user = try call.update { tables -> User in
            var user = try signedIn.user(in: tables)
            guard tables.user(passkey: passkey.id, in: call.pool) == nil else { throw call.passkeyExists() }
            guard user.passkeys.count < Passkey.limit else {
                throw FirebaseError(
                    "PASSKEY_LIMIT_EXCEEDED",
                    because: "the user already has \(Passkey.limit) passkeys, and can't have more: remove one first")
            }
            user.passkeys.append(passkey)
            tables.put(user)
            return user
        }
        let tokens = try call.openSession(user, provider: "passkey", secondFactor: signedIn.secondFactor)
        return FirebaseAnswer(["localId": user.localId], and: tokens.members)
    }

    /// Verifies an authenticator's answer to the creation of a passkey, and returns the new passkey.
    private func passkey(
        _ response: PasskeyResponse, _ name: String, of user: User, at party: RelyingParty, _ call: FirebaseCall
    ) throws -> Passkey {
        if response.isFake, call.project.takesFakes {
            return Passkey(id: response.id, name: name, publicKey: nil, signCount: 0)
        }
        let client = try response.clientData()
        let attestationObject = try response.bytes("attestationObject")
        let challenge = try call.consumeChallenge(client, for: user.localId)
        let made: Registration
        do {
            made = try Registration(client, attestationObject: attestationObject, challenge: challenge, at: party)
        } catch {
            throw FirebaseError.invalidAuthenticator(error.description)
        }
        let id = Base64URL.encode(made.credentialID)
        guard id == response.id else {
            throw FirebaseError.invalidAuthenticator("id isn't the ID of the credential in attestationObject")
        }
        return Passkey(id: id, name: name, publicKey: Base64URL.encode(made.publicKey), signCount: made.signCount)
    }
}
