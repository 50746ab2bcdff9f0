import Foundation
import TestSupport

/// A user of the built-in project, with a client's requests about passkeys.
struct PasskeyClient {
    let fixture: FirebaseFixture
    let idToken: String
    let localId: String

    init(seed: String? = nil) throws {
        fixture = try FirebaseFixture(seed: seed)
        let user = try fixture.signUp("ada@example.org")
        idToken = user["idToken"] ?? ""
        localId = user["localId"] ?? ""
    }

    func start() throws -> [String: Any] {
        let answer = try fixture.v2("accounts/passkeyEnrollment:start", ["idToken": idToken])
        return answer.json["credentialCreationOptions"] as? [String: Any] ?? [:]
    }

    func enrol(_ authenticator: SoftwareAuthenticator, name: String? = "Key") throws -> Answer {
        try enrol(authenticator.registration(start()["challenge"] as? String ?? ""), name: name)
    }

    func enrol(_ response: [String: Any], name: String? = "Key") throws -> Answer {
        var body: [String: Any] = ["idToken": idToken, "authenticatorRegistrationResponse": response]
        body["name"] = name
        return try fixture.v2("accounts/passkeyEnrollment:finalize", body)
    }

    func challenge() throws -> String {
        let answer = try fixture.v2("accounts/passkeySignIn:start", [:])
        return (answer.json["credentialRequestOptions"] as? [String: Any])?["challenge"] as? String ?? ""
    }

    func signIn(_ authenticator: SoftwareAuthenticator, userHandle: String? = nil) throws -> Answer {
        try signIn(authenticator.assertion(challenge(), userHandle: userHandle))
    }

    func signIn(_ response: [String: Any]) throws -> Answer {
        try fixture.v2("accounts/passkeySignIn:finalize", ["authenticatorAuthenticationResponse": response])
    }
}
