import Foundation
import TestSupport
import Testing

@Suite("Firebase: codes by e-mail and by SMS")
struct CodeTests {
    let fixture: FirebaseFixture

    init() throws { fixture = try FirebaseFixture() }

    private func send(_ type: String, _ more: [String: Any] = [:]) throws -> Answer {
        try fixture.v1("sendOobCode", ["requestType": type].merging(more) { $1 })
    }

    private func path(_ mail: [String: Any]) -> String {
        (mail["oobLink"] as? String ?? "").replacingOccurrences(of: "http://localhost:\(fixture.client.port)", with: "")
    }

    @Test("reset a password: by the operation, by the link's page, by a program")
    func passwordReset() throws {
        let user = try fixture.signUp("ada@example.org")
        let sent = try send("PASSWORD_RESET", ["email": "ada@example.org"])
        #expect(sent["email"] == "ada@example.org")
        #expect(sent["oobCode"] == nil)
        let code = try fixture.mail("ada@example.org")["oobCode"] as? String ?? ""
        let check = try fixture.legacy("resetPassword", ["oobCode": code])
        #expect(check["requestType"] == "PASSWORD_RESET")
        #expect(
            try fixture.legacy("resetPassword", ["oobCode": code, "newPassword": "x"]).errorCode == "WEAK_PASSWORD")
        try fixture.advance("10s")
        #expect(try fixture.legacy("resetPassword", ["oobCode": code, "newPassword": "another"]).status == 200)
        #expect(
            try fixture.v1("signInWithPassword", ["email": "ada@example.org", "password": "another"]).status == 200)
        #expect(try fixture.refresh(user["refreshToken"]).message == "TOKEN_EXPIRED")
        let again = try fixture.legacy("resetPassword", ["oobCode": code, "newPassword": "third one"])
        #expect(again.message == "INVALID_OOB_CODE")
        #expect(again.diagnosis.contains("used already"))

        _ = try send("PASSWORD_RESET", ["email": "ada@example.org"])
        let link = path(try fixture.mail("ada@example.org"))
        let page = try fixture.client.get(link, headers: ["Accept": "text/html"])
        #expect(page.text.contains("Choose a new password"))
        let weak = try fixture.client.post(
            "/emulator/action", form: page.inputs.merging(["newPassword": "x"]) { $1 }, headers: ["Accept": "text/html"]
        )
        #expect(weak.status == 422)
        let done = try fixture.client.post(
            "/emulator/action", form: page.inputs.merging(["newPassword": "by the page"]) { $1 },
            headers: ["Accept": "text/html"])
        #expect(done.text.contains("successfully updated"))
        #expect(
            try fixture.v1("signInWithPassword", ["email": "ada@example.org", "password": "by the page"]).status == 200)
        _ = try send("PASSWORD_RESET", ["email": "ada@example.org"])
        let program = try fixture.client.get(path(try fixture.mail("ada@example.org")) + "&newPassword=bylink")
        #expect((program.json["authEmulator"] as? [String: String])?["success"] != nil)
        _ = try send("PASSWORD_RESET", ["email": "ada@example.org"])
        try fixture.advance("61m")
        let late = try fixture.legacy("resetPassword", ["oobCode": code, "newPassword": "x"])
        #expect(late.message == "INVALID_OOB_CODE")
    }

    @Test("expired codes, unknown codes, codes for something else")
    func refusals() throws {
        _ = try fixture.signUp("ada@example.org")
        _ = try send("PASSWORD_RESET", ["email": "ada@example.org"])
        let mail = try fixture.mail("ada@example.org")
        try fixture.advance("61m")
        let late = try fixture.legacy("resetPassword", ["oobCode": mail["oobCode"] ?? "", "newPassword": "another"])
        #expect(late.message == "EXPIRED_OOB_CODE")
        #expect(try fixture.client.get(path(mail)).status == 400)
        #expect(try fixture.client.get(path(mail), headers: ["Accept": "text/html"]).text.contains("This link doesn"))
        #expect(try fixture.legacy("resetPassword", [:]).message == "MISSING_OOB_CODE")
        #expect(try fixture.legacy("resetPassword", ["oobCode": "x"]).message == "INVALID_OOB_CODE")
        for (body, wanted) in [
            (["requestType": "NONSENSE"], "MISSING_REQ_TYPE"), (["requestType": "PASSWORD_RESET"], "MISSING_EMAIL"),
            (["requestType": "PASSWORD_RESET", "email": "x"], "INVALID_EMAIL"),
            (["requestType": "EMAIL_SIGNIN", "email": "a@example.org"], "MISSING_CONTINUE_URI"),
            (["requestType": "EMAIL_SIGNIN", "email": "a@example.org", "continueUrl": "x"], "INVALID_CONTINUE_URI"),
            (
                ["requestType": "EMAIL_SIGNIN", "email": "a@example.org", "continueUrl": "https://evil.example/"],
                "UNAUTHORIZED_DOMAIN"
            ), (["requestType": "VERIFY_EMAIL"], "INVALID_ID_TOKEN"),
            (["requestType": "VERIFY_AND_CHANGE_EMAIL"], "MISSING_NEW_EMAIL"),
            (["requestType": "VERIFY_AND_CHANGE_EMAIL", "newEmail": "b@example.org"], "MISSING_ID_TOKEN"),
        ] as [([String: String], String)] {
            let answer = try fixture.v1("sendOobCode", body)
            #expect(answer.errorCode == wanted)
            #expect(!answer.diagnosis.isEmpty)
        }
        // With enumeration protection an unknown address is answered like a known one, but no mail is sent.
        #expect(try send("PASSWORD_RESET", ["email": "nobody@example.org"])["email"] == "nobody@example.org")
        #expect(try fixture.mail("nobody@example.org").isEmpty)
        #expect(try fixture.client.get("/emulator/action?mode=x&apiKey=demo-api-key").status == 400)
        #expect(try fixture.client.get("/emulator/action?mode=signIn&apiKey=none").status == 400)
    }

    @Test("verify an address, and change it with a code to the new one")
    func verification() throws {
        let user = try fixture.signUp("ada@example.org")
        _ = try send("VERIFY_EMAIL", ["idToken": user["idToken"] ?? ""])
        let link = path(try fixture.mail("ada@example.org")) + "&continueUrl=http%3A%2F%2Flocalhost%3A5000%2Fdone"
        let gone = try fixture.client.get(link)
        #expect(gone.location == "http://localhost:5000/done")
        #expect(try fixture.lookup(user["idToken"])["emailVerified"] as? Bool == true)

        _ = try send("VERIFY_AND_CHANGE_EMAIL", ["idToken": user["idToken"] ?? "", "newEmail": "new@example.org"])
        let change = try fixture.mail("ada@example.org")
        #expect(change["newEmail"] as? String == "new@example.org")
        try fixture.advance("10s")
        let applied = try fixture.legacy("setAccountInfo", ["oobCode": change["oobCode"] ?? ""])
        #expect(applied["email"] == "new@example.org")
        #expect(applied["newEmail"] == "new@example.org")
        #expect(try fixture.v1("lookup", ["idToken": user["idToken"] ?? ""]).message == "TOKEN_EXPIRED")
        #expect(try fixture.mail("ada@example.org").isEmpty)
    }

    @Test("a change of address can be undone from the first one, unless somebody else has it by then")
    func recovery() throws {
        let fixture = try FirebaseFixture(
            seed: #"{"firebase": {"projects": [{"id": "demo-app", "emailEnumerationProtection": false}]}}"#)
        func change(_ user: Answer, _ email: String) throws -> Answer {
            try fixture.v1("update", ["idToken": user["idToken"] ?? "", "email": email])
        }
        let user = try fixture.signUp("ada@example.org")
        let second = try change(user, "second@example.org")
        #expect(second["newEmail"] == "second@example.org")
        let third = try change(second, "third@example.org")
        #expect(try fixture.lookup(third["idToken"])["initialEmail"] as? String == "ada@example.org")
        #expect(try fixture.mail("second@example.org").isEmpty)
        let recovery = try fixture.mail("ada@example.org")
        #expect(recovery["requestType"] as? String == "RECOVER_EMAIL")
        #expect(try fixture.client.get(path(recovery)).text.contains("successfully changed"))
        #expect(
            try fixture.v1("signInWithPassword", ["email": "ada@example.org", "password": "correct horse"])["localId"]
                == user["localId"])

        let anonymous = try change(try fixture.signUpAnonymously(), "new@example.org")
        #expect(try fixture.lookup(anonymous["idToken"])["initialEmail"] == nil)
        let other = try fixture.signUp("bob@example.org")
        _ = try change(other, "robert@example.org")
        let code = try fixture.mail("bob@example.org")["oobCode"] ?? ""
        _ = try fixture.signUp("bob@example.org")
        #expect(try fixture.v1("update", ["oobCode": code]).message == "EMAIL_EXISTS")
        #expect(try fixture.v1("update", ["oobCode": code]).message == "INVALID_OOB_CODE")
    }

    @Test("sign in with a link: a new user, a known one, linked to who is signed in")
    func emailLink() throws {
        let target = "http://localhost:5000/finish?a=b"
        func code(_ email: String) throws -> String {
            let sent = try send("EMAIL_SIGNIN", ["email": email, "continueUrl": target, "canHandleCodeInApp": true])
            #expect(sent.status == 200)
            let answer = try fixture.client.get(path(try fixture.mail(email)))
            #expect(answer.location.hasPrefix("\(target)&mode=signIn&lang=en&oobCode="))
            return answer.redirect["oobCode"] ?? ""
        }
        let first = try code("ada@example.org")
        #expect(
            try fixture.v1("signInWithEmailLink", ["email": "other@example.org", "oobCode": first]).errorCode
                == "INVALID_EMAIL")
        let made = try fixture.v1("signInWithEmailLink", ["email": "ada@example.org", "oobCode": first])
        #expect(made.json["isNewUser"] as? Bool == true)
        #expect(try fixture.lookup(made["idToken"])["emailVerified"] as? Bool == true)
        let again = try fixture.legacy(
            "emailLinkSignin", ["email": "ada@example.org", "oobCode": code("ada@example.org")])
        #expect(again["localId"] == made["localId"])
        #expect(again.json["isNewUser"] as? Bool == false)
        let anonymous = try fixture.signUpAnonymously()
        let linked = try fixture.v1(
            "signInWithEmailLink",
            ["email": "new@example.org", "oobCode": code("new@example.org"), "idToken": anonymous["idToken"] ?? ""])
        #expect(linked["localId"] == anonymous["localId"])
        let taken = try fixture.v1(
            "signInWithEmailLink",
            ["email": "ada@example.org", "oobCode": code("ada@example.org"), "idToken": linked["idToken"] ?? ""])
        #expect(taken.message == "EMAIL_EXISTS")
    }

    @Test("a message to Apple's relay goes by Apple's rules")
    func relay() throws {
        try fixture.order(["provider": "apple", "outcome": "approve", "account": "grace", "shareEmail": false])
        let user = try fixture.signInWithApple("grace")
        let address = user["email"] ?? ""
        #expect(address.hasSuffix("@privaterelay.appleid.com"))
        _ = try send("VERIFY_EMAIL", ["idToken": user["idToken"] ?? ""])
        #expect((try fixture.mail(address)["delivery"] as? String)?.hasPrefix("forwarded to ") ?? false)
        let strict = try FirebaseFixture(
            seed:
                #"{"firebase":{"projects":[{"id":"unknown-sender","apiKeys":["k"],"providers":{"apple.com":{"bundleIDs":["com.example.app"]}}}]}}"#
        )
        _ = try strict.client.post(
            "\(FirebaseFixture.control)/outcomes",
            json: ["provider": "apple", "outcome": "approve", "shareEmail": false, "account": "grace"])
        let token = try strict.apple("grace", nonce: nil)["identityToken"] ?? ""
        let signedIn = try strict.v1(
            "signInWithIdp", ["requestUri": "http://localhost", "postBody": "providerId=apple.com&id_token=\(token)"],
            key: "k")
        let sent = try strict.v1(
            "sendOobCode", ["requestType": "VERIFY_EMAIL", "idToken": signedIn["idToken"] ?? ""], key: "k")
        #expect(sent.status == 200)
        #expect(sent.diagnosis.contains("550 5.1.1"))
        let codes =
            try strict.client.get("/emulator/v1/projects/unknown-sender/oobCodes").json["oobCodes"] as? [[String: Any]]
        #expect((codes?.first?["delivery"] as? String)?.contains("unauthorized sender") ?? false)
    }

    // MARK: - Phone

    private func code(_ number: String) throws -> (session: String, code: String) {
        let sent = try fixture.v1("sendVerificationCode", ["phoneNumber": number])
        return (session: sent["sessionInfo"] ?? "", code: try fixture.message(number))
    }

    @Test("a wrong code: that of a test number is in the seed, that of another number in the inbox")
    func wrongCode() throws {
        for (number, words) in [("+15555550100", "is a test phone number"), ("+15555550177", "mail?to=+15555550177")] {
            let session = try code(number).session
            let answer = try fixture.v1("signInWithPhoneNumber", ["sessionInfo": session, "code": "000"])
            #expect(answer.message == "INVALID_CODE")
            #expect(answer.diagnosis.contains(words), "\(answer)")
        }
    }

    @Test("sign in by phone: test numbers have their own code")
    func phone() throws {
        let (session, text) = try code("+15555550100")
        #expect(text == "123456")
        let made = try fixture.legacy("verifyPhoneNumber", ["sessionInfo": session, "code": text])
        #expect(made.json["isNewUser"] as? Bool == true)
        #expect(made.claims()["phone_number"] as? String == "+15555550100")
        let (next, other) = try code("+15555550177")
        #expect(other.wholeMatch(of: /\d{6}/) != nil)
        #expect(
            try fixture.v1("signInWithPhoneNumber", ["sessionInfo": next, "code": "000"]).message == "INVALID_CODE")
        #expect(try fixture.v1("signInWithPhoneNumber", ["sessionInfo": next, "code": other]).status == 200)
        #expect(
            try fixture.v1("signInWithPhoneNumber", ["sessionInfo": next, "code": other]).message == "SESSION_EXPIRED")
        for (body, wanted) in [
            ([:], "MISSING_SESSION_INFO"), (["sessionInfo": "x"], "MISSING_CODE"),
            (["sessionInfo": "x", "code": "1"], "INVALID_SESSION_INFO"),
        ] { #expect(try fixture.v1("signInWithPhoneNumber", body).message == wanted) }
        for body in [[:], ["phoneNumber": "x"]] {
            #expect(try fixture.v1("sendVerificationCode", body).message == "INVALID_PHONE_NUMBER : Invalid format.")
        }
        #expect(try fixture.v1("signInWithPhoneNumber", ["temporaryProof": "x"]).message == "MISSING_PHONE_NUMBER")
        let (late, lateCode) = try code("+15555550177")
        try fixture.advance("11m")
        #expect(
            try fixture.v1("signInWithPhoneNumber", ["sessionInfo": late, "code": lateCode]).message
                == "SESSION_EXPIRED")
    }

    @Test("link a number; one that another user has brings a temporary proof")
    func linkPhone() throws {
        let number = "+15555550177"
        let (session, text) = try code(number)
        let owner = try fixture.v1("signInWithPhoneNumber", ["sessionInfo": session, "code": text])
        let anonymous = try fixture.signUpAnonymously()
        let (second, again) = try code(number)
        let taken = try fixture.v1(
            "signInWithPhoneNumber", ["sessionInfo": second, "code": again, "idToken": anonymous["idToken"] ?? ""])
        #expect(taken.status == 200)
        #expect(taken["idToken"] == nil)
        #expect(taken["phoneNumber"] == number)
        let proved = try fixture.v1(
            "signInWithPhoneNumber", ["temporaryProof": taken["temporaryProof"] ?? "", "phoneNumber": number])
        #expect(proved["localId"] == owner["localId"])
        #expect(
            try fixture.v1("signInWithPhoneNumber", ["temporaryProof": "x", "phoneNumber": number]).message
                == "INVALID_TEMPORARY_PROOF")
        let (third, fresh) = try code("+15555550188")
        let linked = try fixture.v1(
            "signInWithPhoneNumber", ["sessionInfo": third, "code": fresh, "idToken": anonymous["idToken"] ?? ""])
        #expect(linked["localId"] == anonymous["localId"])
        #expect(try fixture.providers(linked["idToken"]) == ["phone"])
        let unlinked = try fixture.v1("update", ["idToken": linked["idToken"] ?? "", "deleteProvider": ["phone"]])
        #expect(unlinked.status == 200)
    }
}
