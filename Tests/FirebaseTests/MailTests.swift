import Foundation
import TestSupport
import Testing

@Suite("Firebase: the mails and texts that it would send")
struct MailTests {
    let fixture: FirebaseFixture

    init() throws { fixture = try FirebaseFixture() }

    private func messages(_ query: String = "", of fixture: FirebaseFixture? = nil) throws -> [[String: Any]] {
        let answer = try (fixture ?? self.fixture).client.get("\(FirebaseFixture.control)/mail?\(query)")
        return answer.json["messages"] as? [[String: Any]] ?? []
    }

    /// Returns the latest message to this address: its subject, its text and the answer of its link to a browser.
    private func read(_ address: String) throws -> (subject: String, text: String, link: String) {
        let mail = try #require(try messages("to=\(address)").last)
        let link = try #require((mail["links"] as? [String])?.first)
        #expect((mail["text"] as? String)?.contains(link) == true)
        #expect((mail["html"] as? String)?.contains("mode=") == true)
        return (mail["subject"] as? String ?? "", mail["text"] as? String ?? "", link)
    }

    private func open(_ link: String) throws -> Answer {
        let path = link.replacingOccurrences(of: "http://localhost:\(fixture.client.port)", with: "")
        return try fixture.client.get(path, headers: ["Accept": "text/html"])
    }

    private func send(_ type: String, _ more: [String: Any]) throws -> Answer {
        try fixture.v1("sendOobCode", ["requestType": type].merging(more) { $1 })
    }

    @Test("verification: the link verifies")
    func verification() throws {
        let user = try fixture.signUp("ada@example.org")
        _ = try fixture.v1("update", ["idToken": user["idToken"] ?? "", "displayName": "Ada <b>"])
        _ = try send("VERIFY_EMAIL", ["idToken": user["idToken"] ?? ""])
        let mail = try read("ada@example.org")
        #expect(mail.subject.hasPrefix("Verify your email for project-"))
        #expect(mail.text.hasPrefix("Hello Ada <b>,\n"))
        let html = try messages().last?["html"] as? String
        #expect(html?.contains("Hello Ada &lt;b&gt;,") == true)
        #expect(try open(mail.link).status == 200)
        #expect(try fixture.lookup(user["idToken"])["emailVerified"] as? Bool == true)
    }

    @Test("somebody without a name is greeted without one")
    func nameless() throws {
        let user = try fixture.signUp("ada@example.org")
        _ = try send("VERIFY_EMAIL", ["idToken": user["idToken"] ?? ""])
        #expect(try read("ada@example.org").text.hasPrefix("Hello,\n"))
    }

    @Test("reset: the link leads to a page for a new password")
    func passwordReset() throws {
        _ = try fixture.signUp("ada@example.org")
        _ = try send("PASSWORD_RESET", ["email": "ada@example.org"])
        let mail = try read("ada@example.org")
        #expect(mail.subject.hasPrefix("Reset your password for "))
        #expect(try open(mail.link).text.contains("Choose a new password"))
    }

    @Test("verify and change: to the new address, whose link changes it")
    func change() throws {
        let user = try fixture.signUp("ada@example.org")
        _ = try send("VERIFY_AND_CHANGE_EMAIL", ["idToken": user["idToken"] ?? "", "newEmail": "new@example.org"])
        #expect(try messages("to=ada@example.org").isEmpty)
        let mail = try read("new@example.org")
        #expect(try open(mail.link).status == 200)
        #expect(
            try fixture.v1("signInWithPassword", ["email": "new@example.org", "password": "correct horse"]).status
                == 200)
    }

    @Test("recovery: to the old address, whose link gives it back")
    func recovery() throws {
        _ = try fixture.admin(
            "PATCH", "/config", ["emailPrivacyConfig": ["enableImprovedEmailPrivacy": false]], version: "v2")
        let user = try fixture.signUp("ada@example.org")
        _ = try fixture.v1("update", ["idToken": user["idToken"] ?? "", "email": "new@example.org"])
        let mail = try read("ada@example.org")
        #expect(mail.subject.hasPrefix("Your sign-in email was changed for "))
        #expect(mail.text.contains("new@example.org"))
        #expect(try open(mail.link).status == 200)
        #expect(
            try fixture.v1("signInWithPassword", ["email": "ada@example.org", "password": "correct horse"]).status
                == 200)
    }

    @Test("a link for signing in goes on to the app, in the client's language")
    func signInLink() throws {
        _ = try fixture.client.request(
            "POST", "\(FirebaseFixture.toolkit)/v1/accounts:sendOobCode?key=\(FirebaseFixture.key)",
            headers: ["X-Firebase-Locale": "pt-BR", "Content-Type": "application/json"],
            body: Array(
                #"{"requestType":"EMAIL_SIGNIN","email":"new@example.org","continueUrl":"http://localhost/done"}"#.utf8)
        )
        let mail = try read("new@example.org")
        #expect(mail.subject.hasPrefix("Sign in to "))
        #expect(mail.link.contains("lang=pt-BR"))
        #expect(try open(mail.link).location.hasPrefix("http://localhost/done?mode=signIn&lang=pt-BR&oobCode="))
    }

    @Test("a language that isn't one isn't put into a link", arguments: ["", "x&apiKey=other", "\u{202e}en", "a b"])
    func hostileLocale(locale: String) throws {
        _ = try fixture.signUp("ada@example.org")
        _ = try fixture.client.request(
            "POST", "\(FirebaseFixture.toolkit)/v1/accounts:sendOobCode?key=\(FirebaseFixture.key)",
            headers: ["X-Firebase-Locale": locale, "Content-Type": "application/json"],
            body: Array(#"{"requestType":"PASSWORD_RESET","email":"ada@example.org"}"#.utf8))
        #expect(try read("ada@example.org").link.contains("&lang=en&"))
    }

    @Test("a second factor that was added: the link removes it, and ends the sessions")
    func secondFactor() throws {
        let user = try fixture.verifiedUser()
        let start = try fixture.v2(
            "accounts/mfaEnrollment:start",
            ["idToken": user["idToken"] ?? "", "phoneEnrollmentInfo": ["phoneNumber": "+15555550199"]])
        let session = (start.json["phoneSessionInfo"] as? [String: Any])?["sessionInfo"] as? String ?? ""
        let text = try #require(try messages("to=+15555550199").last)
        #expect(text["kind"] as? String == "text")
        let code = try #require((text["codes"] as? [String])?.first)
        #expect((text["text"] as? String)?.hasPrefix("\(code) is your verification code for project-") == true)
        let enrolled = try fixture.v2(
            "accounts/mfaEnrollment:finalize",
            [
                "idToken": user["idToken"] ?? "", "displayName": "Phone",
                "phoneVerificationInfo": ["sessionInfo": session, "code": code],
            ])
        #expect(enrolled.status == 200)
        let mail = try read("ada@example.org")
        #expect(mail.subject.contains("2 step verification"))
        #expect(mail.text.contains("+15555550199"))
        // The SDK asks for the purpose of a code so.
        let oob = Answer.fields(String(mail.link.split(separator: "?")[1]))["oobCode"] ?? ""
        let info = try fixture.v1("resetPassword", ["oobCode": oob])
        #expect(info["requestType"] == "REVERT_SECOND_FACTOR_ADDITION")
        #expect((info.json["mfaInfo"] as? [String: Any])?["phoneInfo"] as? String == "+15555550199")
        // The official emulator's list doesn't have this mail.
        #expect(try fixture.mail("ada@example.org").isEmpty)
        try fixture.advance("10s")
        #expect(try open(mail.link).text.contains("The second factor has been removed."))
        #expect(try fixture.adminUser(user["localId"] ?? "")["mfaInfo"] == nil)
        #expect(try fixture.refresh(enrolled["refreshToken"]).message == "TOKEN_EXPIRED")
        #expect(try open(mail.link).status == 400)
        // Such a mail can't be requested.
        #expect(
            try send("REVERT_SECOND_FACTOR_ADDITION", ["email": "ada@example.org"]).errorCode == "MISSING_REQ_TYPE")
    }

    @Test("a text for signing in, and none to a test number")
    func texts() throws {
        let sent = try fixture.v1("sendVerificationCode", ["phoneNumber": "+15555550123"])
        let code = (try messages("to=+15555550123").last?["codes"] as? [String])?.first ?? ""
        let signedIn = try fixture.v1(
            "signInWithPhoneNumber", ["sessionInfo": sent["sessionInfo"] ?? "", "code": code])
        #expect(signedIn.status == 200)
        _ = try fixture.v1("sendVerificationCode", ["phoneNumber": "+15555550100"])
        #expect(try messages("to=+15555550100").isEmpty)
    }

    @Test("nothing is sent where Firebase sends nothing")
    func silence() throws {
        _ = try fixture.signUp("ada@example.org")
        // A caller who asks for the link gets it.
        let link = try fixture.admin(
            "POST", "/accounts:sendOobCode",
            ["requestType": "PASSWORD_RESET", "email": "ada@example.org", "returnOobLink": true])
        #expect(link["oobLink"] != nil)
        // No user has the address, and the answer doesn't tell that.
        #expect(try send("PASSWORD_RESET", ["email": "nobody@example.org"]).status == 200)
        #expect(try messages().isEmpty)
    }

    @Test("what Apple's relay did with a mail, and why")
    func relay() throws {
        try fixture.order(["provider": "apple", "outcome": "approve", "account": "grace", "shareEmail": false])
        let user = try fixture.signInWithApple("grace")
        let address = user["email"] ?? ""
        _ = try send("VERIFY_EMAIL", ["idToken": user["idToken"] ?? ""])
        let mail = try #require(try messages("to=\(address)").last)
        let relay = mail["relay"] as? [String: String]
        #expect(relay?["address"] == address && relay?["title"] == "Apple's relay")
        let forwardedTo = try #require(relay?["forwardedTo"])
        #expect(relay?["refusal"] == nil)
        // The message is also found by the address to which it was forwarded.
        #expect(try messages("to=\(forwardedTo)").last?["id"] as? String == mail["id"] as? String)
        _ = try fixture.client.post(
            "\(FirebaseFixture.control)/apple/notifications",
            json: ["type": "email-disabled", "account": "grace", "client": "com.example.app"])
        let refused = try send("VERIFY_EMAIL", ["idToken": user["idToken"] ?? ""])
        #expect(refused.diagnosis.contains("550 5.1.1 <\(address)>: user not found: "))
        #expect(refused.diagnosis.contains("email-disabled"))
        let off = try messages("to=\(address)").last?["relay"] as? [String: String]
        #expect(off?["refusal"] == "550 5.1.1 <\(address)>: user not found" && off?["forwardedTo"] == nil)
        #expect(off?["reason"]?.contains("email-disabled") == true)
    }

    @Test("an unregistered sender is refused by Apple's relay")
    func unregistered() throws {
        _ = try fixture.admin(
            "PATCH", "/config?updateMask=notification.sendEmail.verifyEmailTemplate.senderLocalPart",
            ["notification": ["sendEmail": ["verifyEmailTemplate": ["senderLocalPart": "other"]]]], version: "v2")
        try fixture.order(["provider": "apple", "outcome": "approve", "account": "grace", "shareEmail": false])
        let user = try fixture.signInWithApple("grace")
        let sent = try send("VERIFY_EMAIL", ["idToken": user["idToken"] ?? ""])
        #expect(sent.diagnosis.contains("550 5.1.1 <other@demo-app.firebaseapp.com>: unauthorized sender"))
        let relay = try messages("to=\(user["email"] ?? "")").last?["relay"] as? [String: String]
        #expect(relay?["refusal"]?.hasPrefix("550 5.1.1 ") == true)
        #expect(relay?["reason"]?.contains("$.apple.teams[0].relay.senders") == true)
    }

    // MARK: - A project's own templates

    private func configure(_ template: [String: Any], mask: String) throws -> Answer {
        try fixture.admin(
            "PATCH", "/config?updateMask=\(mask)",
            ["notification": ["sendEmail": ["resetPasswordTemplate": template]]], version: "v2")
    }

    @Test("a template of the project's own: HTML, plain text, sender, and a page of its own for links")
    func templates() throws {
        _ = try fixture.signUp("ada@example.org")
        let html = "<h1>Hi</h1><p>For %EMAIL%: <a href='%LINK%'>reset</a>%UNKNOWN% 100%</p><script>x()</script>"
        let answer = try configure(
            [
                "subject": "Reset at %APP_NAME%", "body": html, "bodyFormat": "HTML", "senderDisplayName": "The app",
                "replyTo": "help@example.org",
            ], mask: "notification.sendEmail.resetPasswordTemplate")
        #expect(answer.status == 200)
        _ = try send("PASSWORD_RESET", ["email": "ada@example.org"])
        var mail = try #require(try messages().last)
        #expect((mail["subject"] as? String)?.hasPrefix("Reset at project-") == true)
        let sent = try #require(mail["html"] as? String)
        #expect(sent.contains("For ada@example.org: <a href='http://") && sent.contains("reset</a>%UNKNOWN% 100%</p>"))
        #expect(sent.contains("&amp;oobCode="))
        #expect(mail["text"] as? String == "Hi\n\nFor ada@example.org: reset%UNKNOWN% 100%\n")
        let headers = mail["headers"] as? [[String: String]] ?? []
        #expect(headers.contains { $0["value"] == "The app <noreply@demo-app.firebaseapp.com>" })
        #expect(headers.contains { $0["name"] == "Reply-To" && $0["value"] == "help@example.org" })

        _ = try configure(
            ["body": "Go to %LINK%", "bodyFormat": "PLAIN_TEXT"],
            mask:
                "notification.sendEmail.resetPasswordTemplate.body,notification.sendEmail.resetPasswordTemplate.bodyFormat"
        )
        _ = try fixture.admin(
            "PATCH", "/config?updateMask=notification.sendEmail.callbackUri",
            ["notification": ["sendEmail": ["callbackUri": "https://app.example.org/action?from=mail"]]], version: "v2")
        _ = try send("PASSWORD_RESET", ["email": "ada@example.org"])
        mail = try #require(try messages().last)
        #expect(mail["html"] == nil)
        #expect(
            (mail["text"] as? String)?.hasPrefix("Go to https://app.example.org/action?from=mail&mode=resetPassword&")
                == true)
        let config = try fixture.admin("GET", "/config", version: "v2").json["notification"] as? [String: Any]
        let template = (config?["sendEmail"] as? [String: Any])?["resetPasswordTemplate"] as? [String: Any]
        #expect(template?["customized"] as? Bool == true && template?["bodyFormat"] as? String == "PLAIN_TEXT")
        // A template that the mask names and the body lacks is a new project's again.
        _ = try configure([:], mask: "notification.sendEmail.resetPasswordTemplate")
        _ = try send("PASSWORD_RESET", ["email": "ada@example.org"])
        #expect((try messages().last?["subject"] as? String)?.hasPrefix("Reset your password") == true)
    }

    @Test(
        "what can't be in a template is refused",
        arguments: [
            ("subject", String(repeating: "x", count: 999)), ("bodyFormat", "MARKDOWN"), ("senderLocalPart", "a b"),
            ("body", String(repeating: "x", count: 65_537)),
        ])
    func badTemplates(field: String, value: String) throws {
        let answer = try configure([field: value], mask: "notification")
        #expect(answer.status == 400 && answer.diagnosis.contains(field))
    }

    @Test("a template that names a link a thousand times makes no endless mail")
    func bounded() throws {
        _ = try fixture.signUp("ada@example.org")
        _ = try configure(["body": String(repeating: "%LINK%", count: 10_000)], mask: "notification")
        let far = "http://localhost/" + String(repeating: "x", count: 8_000)
        _ = try send("PASSWORD_RESET", ["email": "ada@example.org", "continueUrl": far])
        let mail = try #require(try messages().last)
        #expect((mail["html"] as? String ?? "").utf8.count < 300_000)
    }

    @Test("the app's name is the seed's")
    func appName() throws {
        let fixture = try FirebaseFixture(
            seed: #"{"firebase":{"projects":[{"id":"demo-app","appName":"Analytical Engines"}]}}"#)
        _ = try fixture.signUp("ada@example.org")
        _ = try fixture.v1("sendOobCode", ["requestType": "PASSWORD_RESET", "email": "ada@example.org"])
        let mail = try #require(try messages(of: fixture).last)
        #expect(mail["subject"] as? String == "Reset your password for Analytical Engines")
        #expect((mail["text"] as? String)?.hasSuffix("The Analytical Engines team\n") == true)
    }
}
