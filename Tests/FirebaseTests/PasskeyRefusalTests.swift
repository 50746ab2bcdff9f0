import Foundation
import TestSupport
import Testing

@Suite("Passkeys that are refused")
struct PasskeyRefusalTests {
    static let faults: [(name: String, change: @Sendable (SoftwareAuthenticator) -> Void, reason: String)] = [
        ("another origin", { $0.origin = "https://evil.example" }, "origin"),
        ("http elsewhere", { $0.origin = "http://localhost.example" }, "origin"),
        ("another relying party", { $0.relyingParty = "example.com" }, "relying party"),
        ("nobody there", { $0.flags = 0x04 }, "UP"), ("nobody verified", { $0.flags = 0x01 }, "UV"),
        ("backed up though it can't be", { $0.flags = 0x15 }, "BS"),
        ("the other ceremony", { $0.type = "webauthn.other" }, "type"),
    ]

    @Test("what an authenticator says wrong is refused, at enrolment and at sign-in", arguments: faults.indices)
    func fault(place: Int) throws {
        let fault = PasskeyRefusalTests.faults[place]
        let client = try PasskeyClient()
        let wrong = try SoftwareAuthenticator()
        fault.change(wrong)
        let refused = try client.enrol(wrong)
        #expect(refused.status == 400 && refused.message == "INVALID_AUTHENTICATOR_RESPONSE")
        #expect(refused.diagnosis.contains(fault.reason), "\(refused.diagnosis)")
        let authenticator = try SoftwareAuthenticator()
        _ = try client.enrol(authenticator)
        authenticator.signCount = 2
        fault.change(authenticator)
        let unproven = try client.signIn(authenticator)
        #expect(unproven.message == "INVALID_AUTHENTICATOR_RESPONSE")
        #expect(unproven.diagnosis.contains(fault.reason), "\(unproven.diagnosis)")
    }

    @Test("another key's signature proves nothing")
    func signature() throws {
        let client = try PasskeyClient()
        let authenticator = try SoftwareAuthenticator()
        _ = try client.enrol(authenticator)
        var forged = try SoftwareAuthenticator().assertion(client.challenge())
        forged["id"] = authenticator.credentialID
        #expect(try client.signIn(forged).message == "INVALID_AUTHENTICATOR_RESPONSE")
    }

    @Test("a challenge is signed once, by the one it was given to, within five minutes")
    func challenges() throws {
        let client = try PasskeyClient()
        let authenticator = try SoftwareAuthenticator()
        let made = try authenticator.registration(client.start()["challenge"] as? String ?? "")
        #expect(try client.enrol(made).status == 200)
        #expect(try client.enrol(made).message == "INVALID_AUTHENTICATOR_RESPONSE")
        authenticator.signCount = 2
        let proof = try authenticator.assertion(client.challenge())
        #expect(try client.signIn(proof).status == 200)
        #expect(try client.signIn(proof).message == "INVALID_AUTHENTICATOR_RESPONSE")
        // A challenge of an enrolment can't be used for a sign-in.
        let other = try authenticator.assertion(client.start()["challenge"] as? String ?? "")
        #expect(try client.signIn(other).message == "INVALID_AUTHENTICATOR_RESPONSE")
        let late = try authenticator.assertion(client.challenge())
        try client.fixture.advance("5m")
        #expect(try client.signIn(late).message == "PASSKEY_CHALLENGE_TIMEOUT")
    }

    @Test("a signature count that doesn't grow is a copy's; one that stays 0 isn't counted")
    func counts() throws {
        let client = try PasskeyClient()
        let authenticator = try SoftwareAuthenticator()
        authenticator.signCount = 7
        _ = try client.enrol(authenticator)
        #expect(try client.signIn(authenticator).message == "INVALID_AUTHENTICATOR_RESPONSE")
        authenticator.signCount = 8
        #expect(try client.signIn(authenticator).status == 200)
        authenticator.signCount = 0
        #expect(try client.signIn(authenticator).message == "INVALID_AUTHENTICATOR_RESPONSE")
        let uncounted = try SoftwareAuthenticator()
        uncounted.signCount = 0
        _ = try client.enrol(uncounted)
        #expect(try client.signIn(uncounted).status == 200)
        #expect(try client.signIn(uncounted).status == 200)
    }

    @Test("whom the authenticator names must be the passkey's user")
    func userHandle() throws {
        let client = try PasskeyClient()
        let authenticator = try SoftwareAuthenticator()
        _ = try client.enrol(authenticator)
        authenticator.signCount = 2
        #expect(try client.signIn(authenticator, userHandle: "eve").message == "INVALID_AUTHENTICATOR_RESPONSE")
    }

    @Test(
        "what is missing or unreadable is said",
        arguments: [
            (#"{"authenticatorRegistrationResponse": {"id": "AAAA"}}"#, "MISSING_ID_TOKEN"),
            (#"{"idToken": "TOKEN"}"#, "MISSING_AUTHENTICATOR_RESPONSE"),
            (#"{"idToken": "TOKEN", "authenticatorRegistrationResponse": {}}"#, "INVALID_CREDENTIAL_ID"),
            (
                #"{"idToken": "TOKEN", "authenticatorRegistrationResponse": {"id": "AAAA"}}"#,
                "INVALID_AUTHENTICATOR_RESPONSE"
            ),
            (
                #"{"idToken": "TOKEN", "authenticatorRegistrationResponse": {"id": "AAAA", "response": {}}}"#,
                "INVALID_AUTHENTICATOR_RESPONSE"
            ),
            (
                #"{"idToken": "TOKEN", "authenticatorRegistrationResponse": {"id": "AAAA", "response": "#
                    + #"{"clientDataJSON": "e30", "attestationObject": "oA"}}}"#, "INVALID_AUTHENTICATOR_RESPONSE"
            ),
            (
                #"{"idToken": "TOKEN", "authenticatorRegistrationResponse": {"id": "AAAA", "response": "#
                    + #"{"clientDataJSON": "%", "attestationObject": "oA"}}}"#, "INVALID_AUTHENTICATOR_RESPONSE"
            ),
        ])
    func missing(body: String, code: String) throws {
        let client = try PasskeyClient()
        let text = body.replacingOccurrences(of: "TOKEN\"", with: "\(client.idToken)\"")
        let body = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] ?? [:]
        #expect(try client.fixture.v2("accounts/passkeyEnrollment:finalize", body).errorCode == code)
    }
}
