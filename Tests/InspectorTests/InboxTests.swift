import Foundation
import TestSupport
import Testing

@Suite("The inspector's inbox")
struct InboxTests {
    private static let accounts = "/identitytoolkit.googleapis.com/v1/accounts"
    let fixture: InspectorFixture

    init() throws { fixture = try InspectorFixture() }

    @discardableResult
    private func call(_ name: String, _ body: [String: Any], headers: [String: String] = [:]) throws -> Answer {
        try fixture.client.post("\(InboxTests.accounts):\(name)?key=demo-api-key", json: body)
    }

    private func mail(_ address: String) throws {
        try call("signUp", ["email": address, "password": "correct horse"])
        try call("sendOobCode", ["requestType": "PASSWORD_RESET", "email": address])
    }

    @Test("an empty inbox says what will come") func empty() throws {
        let page = try fixture.page("inbox")
        #expect(page.status == 200 && page.text.contains("No messages yet."))
        #expect(!page.text.contains("Delete all"))
        #expect(page.text.contains("id=\"messages\" data-follow"))
    }

    @Test("the list, newest first, searched by address, subject and kind") func list() throws {
        try mail("ada@example.org")
        try mail("grace@example.org")
        try call("sendVerificationCode", ["phoneNumber": "+15555550123"])
        func shown(_ query: String) throws -> [String] {
            try fixture.page("inbox\(query)").text.components(separatedBy: "/_understudy/inbox/m").dropFirst()
                .map { String($0.prefix(1)) }
        }
        #expect(try shown("") == ["3", "2", "1"])
        #expect(try shown("?search=ADA") == ["1"])
        #expect(try shown("?search=reset+your") == ["2", "1"])
        #expect(try shown("?kind=text") == ["3"])
        #expect(try shown("?before=m2") == ["1"])
        #expect(try shown("?search=nothing") == [])
        #expect(try fixture.page("inbox?search=nothing").text.contains("No message matches the filter."))
        #expect(try shown("?search=%22%3E%3Cscript%3E&kind=fax&before=x") == [])
    }

    @Test("fifty messages a page") func pages() throws {
        for _ in 0..<51 { try call("sendVerificationCode", ["phoneNumber": "+15555550123"]) }
        let first = try fixture.page("inbox?kind=text").text
        #expect(first.components(separatedBy: "<tr").count == 52)
        #expect(first.contains("/_understudy/inbox?kind=text&amp;before=m2\">Older</a>"))
        let second = try fixture.page("inbox?kind=text&before=m2").text
        #expect(second.contains("inbox/m1\"") && second.contains(">Newest</a>") && !second.contains(">Older</a>"))
        // A later page isn't updated.
        #expect(!second.contains("id=\"messages\" data-follow"))
    }

    @Test("a mail: who, what, links, codes, headers, and its HTML in a frame") func message() throws {
        try mail("ada@example.org")
        let page = try fixture.page("inbox/m1").text
        for part in [
            "noreply@demo-app.firebaseapp.com", "ada@example.org", "Reset your password for", "<h2>Links</h2>",
            "<h2>Codes</h2>", ">Open<", "data-copy=\"http://localhost", "Message-ID", "/_understudy/v1/mail/m1/raw",
            "sandbox=\"\"", "src=\"http://localhost:\(fixture.client.port)/_understudy/inbox/m1/html\"",
            "/_understudy/requests/",
        ] { #expect(page.contains(part), "\(part)") }
        #expect(try fixture.page("inbox/m2").status == 404)
        #expect(try fixture.page("inbox/%3Cscript%3E").status == 404)
    }

    @Test("the frame has a policy of its own: no script, nothing from elsewhere, wherever it is opened") func frame()
        throws
    {
        try mail("ada@example.org")
        let frame = try fixture.page("inbox/m1/html")
        #expect(frame.status == 200 && frame.text.contains("<base target=\"_blank\">"))
        let policy = try #require(frame.header("Content-Security-Policy"))
        let rules = policy.components(separatedBy: "; ")
        for rule in [
            "default-src 'none'", "img-src data:", "style-src 'unsafe-inline'", "sandbox", "form-action 'none'",
            "frame-ancestors 'self'",
        ] { #expect(rules.contains(rule)) }
        #expect(frame.header("X-Content-Type-Options") == "nosniff")
        try call("sendVerificationCode", ["phoneNumber": "+15555550123"])
        // A text message has no HTML.
        #expect(try fixture.page("inbox/m2/html").status == 404)
        #expect(try fixture.page("inbox/m1/html", headers: ["Origin": "https://other.example"]).status == 403)
    }

    @Test("a message and all messages are deleted by forms with the token") func deleting() throws {
        try mail("ada@example.org")
        try mail("grace@example.org")
        #expect(try fixture.client.post("/_understudy/inbox/m1/delete", form: [:]).status == 403)
        #expect(try fixture.submit("inbox/m1/delete", [:], from: "inbox").location.hasSuffix("/_understudy/inbox"))
        #expect(try fixture.page("inbox/m1").status == 404)
        let again = try fixture.submit("inbox/m1/delete", [:], from: "inbox")
        #expect(again.status == 404 && again.text.contains("role=\"alert\""))
        #expect(try fixture.submit("inbox/delete", [:], from: "inbox").status == 303)
        #expect(try fixture.page("inbox").text.contains("No messages yet"))
    }

    @Test("what a relay did, and why") func relay() throws {
        _ = try fixture.client.post(
            "/_understudy/v1/outcomes",
            json: ["provider": "apple", "outcome": "approve", "account": "grace", "shareEmail": false])
        let native: [String: Any] = ["client": "com.example.app", "scopes": ["email"], "account": "grace"]
        let token = try fixture.client.post("/_understudy/v1/apple/authorizations", json: native)["identityToken"] ?? ""
        let user = try call(
            "signInWithIdp",
            [
                "postBody": "id_token=\(token)&providerId=apple.com", "requestUri": "http://localhost",
                "returnSecureToken": true,
            ])
        try call("sendOobCode", ["requestType": "VERIFY_EMAIL", "idToken": user["idToken"] ?? ""])
        #expect(try fixture.page("inbox/m1").text.contains("Apple&#39;s relay forwarded the mail from "))
        _ = try fixture.client.post(
            "/_understudy/v1/apple/notifications",
            json: ["type": "email-disabled", "account": "grace", "client": "com.example.app"])
        try call("sendOobCode", ["requestType": "VERIFY_EMAIL", "idToken": user["idToken"] ?? ""])
        let page = try fixture.page("inbox/m2").text
        #expect(page.contains("refused the mail for") && page.contains("email-disabled"))
        let list = try fixture.page("inbox").text
        #expect(list.contains("badge good\">forwarded") && list.contains("badge bad\">refused"))
    }

    @Test("whatever a mail holds is text, and nothing of it is invisible") func hostile() throws {
        let name = "</bdi><script>alert(1)</script>\u{202E}\u{2066}\u{1B}[31m"
        let user = try call("signUp", ["email": "e@example.org", "password": "secret1", "returnSecureToken": true])
        try call("update", ["idToken": user["idToken"] ?? "", "displayName": name])
        try call("sendOobCode", ["requestType": "VERIFY_EMAIL", "idToken": user["idToken"] ?? ""])
        let page = try fixture.page("inbox/m1").text
        #expect(!page.contains("<script>alert") && page.contains("&lt;script&gt;alert(1)"))
        for scalar in ["\u{202E}", "\u{2066}", "\u{1B}"] { #expect(!page.contains(scalar)) }
        #expect(page.contains("\u{241B}[31m"))
        #expect(!(try fixture.page("inbox/m1/html").text.contains("<script")))
    }

    @Test("each world has its own inbox") func worlds() throws {
        let fixture = try InspectorFixture(isAlone: true)
        try mail("ada@example.org")
        #expect(try fixture.page("inbox", world: "other").text.contains("No messages yet"))
    }
}
