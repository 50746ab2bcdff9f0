import Foundation
import TestSupport
import Testing

@testable import Understudy

/// The pages of app users: directories, users, and an administrator's actions.
@Suite struct UserTests {
    private static let toolkit = "/identitytoolkit.googleapis.com/v1"
    private static let project = "users/firebase%3Ademo-app"
    private let fixture: InspectorFixture
    private var client: TestClient { fixture.client }

    init() throws { fixture = try InspectorFixture() }

    private func signUp(_ email: String, _ more: [String: Any] = [:]) throws -> Answer {
        let body: [String: Any] = ["email": email, "password": "secret12", "returnSecureToken": true]
        let answer = try client.post(
            "\(UserTests.toolkit)/accounts:signUp?key=demo-api-key", json: body.merging(more) { $1 })
        #expect(answer.status == 200)
        return answer
    }

    private func signIn(_ email: String, _ password: String = "secret12") throws -> Answer {
        try client.post(
            "\(UserTests.toolkit)/accounts:signInWithPassword?key=demo-api-key",
            json: ["email": email, "password": password, "returnSecureToken": true])
    }

    private func administer(_ call: String, _ body: [String: Any]) throws -> Answer {
        let data = try JSONSerialization.data(withJSONObject: body)
        return try client.request(
            "POST", "\(UserTests.toolkit)/projects/demo-app/accounts:\(call)",
            headers: ["Authorization": "Bearer owner", "Content-Type": "application/json"], body: Array(data))
    }

    @discardableResult
    private func press(_ label: String, on path: String) throws -> Answer {
        let page = try fixture.page(path)
        let tag = try #require(
            page.text.components(separatedBy: "<button ").first {
                Answer.attribute("aria-label", of: $0) == label
            }, "no button \(label)")
        return try fixture.submit("\(path)/act", ["action": Answer.attribute("value", of: tag)], from: path)
    }

    private func path(_ answer: Answer) -> String { "\(UserTests.project)/\(answer["localId"] ?? "")" }

    // MARK: - Lists

    @Test("projects and tenants are directories, and a project that nobody has used isn't there") func directories()
        throws
    {
        let fixture = try InspectorFixture(isAlone: true)
        let client = fixture.client
        #expect(try fixture.page("users").text.contains("demo-app"))
        #expect(try fixture.page("users/firebase%3Ademo-other").status == 404)
        let key = "demo-other"
        let path = "\(UserTests.toolkit)/accounts:signUp?key=\(key)"
        #expect(try client.post(path, json: ["returnSecureToken": true]).status == 200)
        #expect(
            try client.post(path, json: ["returnSecureToken": true, "tenantId": "red"]).status == 200)
        #expect(try fixture.page("users").text.contains("users/firebase%3Ademo-other\""))
        let project = try fixture.page("users/firebase%3Ademo-other")
        #expect(project.text.contains("users/firebase%3Ademo-other%3Ared") && project.text.contains("1 user"))
        let tenant = try fixture.page("users/firebase%3Ademo-other%3Ared")
        #expect(tenant.text.contains("tenant of demo-other") && tenant.text.contains("anonymous"))
        #expect(try fixture.page("users/firebase%3Ademo-other%3Ablue").status == 404)
        #expect(try fixture.page("users/firebase%3Ademo-other", world: "other").status == 404)
    }

    @Test("many projects are listed some at a time, each once, whatever they are called") func manyProjects() throws {
        for number in 0..<110 {
            let path = "\(UserTests.toolkit)/accounts:signUp?key=demo-\(1000 + number)"
            #expect(try client.post(path, json: ["returnSecureToken": true]).status == 200)
        }
        // This project has an ID of digits only, and is made where unknown keys are accepted.
        let data = Array(#"{"localId":"one"}"#.utf8)
        let made = try client.request(
            "POST", "\(UserTests.toolkit)/projects/12345/accounts",
            headers: ["Authorization": "Bearer owner", "Content-Type": "application/json"], body: data)
        #expect(made.status == 200)
        var (seen, pages, path): ([String], Int, String?) = ([], 0, "users")
        while let at = path, pages < 9 {
            pages += 1
            let links = try fixture.page(at).text.components(separatedBy: "href=\"").dropFirst().map { link in
                link.prefix { $0 != "\"" }.replacingOccurrences(of: "&amp;", with: "&")
            }
            seen += links.filter { $0.contains("users/firebase%3A") }
            path = links.first { $0.contains("after=") }?.components(separatedBy: "/_understudy/").last
        }
        #expect(pages == 3 && Set(seen).count == seen.count)
        #expect(seen.contains { $0.hasSuffix("%3A12345") } && seen.contains { $0.hasSuffix("%3Ademo-1109") })
    }

    @Test("users are found by address, number and ID, each once") func search() throws {
        for number in 0..<60 { _ = try signUp("user\(100 + number)@example.com") }
        _ = try administer(
            "update", ["localId": try signUp("anna@example.org")["localId"] ?? "", "phoneNumber": "+15555550123"])
        let first = try fixture.page(UserTests.project)
        #expect(first.text.contains("61 users") && first.text.contains("Next page"))
        var (seen, path) = (Set<String>(), Optional("\(UserTests.project)?q=USER1"))
        while let at = path {
            let page = try fixture.page(at)
            for name in page.text.components(separatedBy: "user1").dropFirst() {
                seen.insert("user1\(name.prefix { $0 != "@" })")
            }
            let next = page.text.components(separatedBy: "href=\"").first {
                $0.contains("after=") && $0.contains("Next")
            }
            path = next.map { link in
                let text = link.prefix { $0 != "\"" }.replacingOccurrences(of: "&amp;", with: "&")
                return text.components(separatedBy: "/_understudy/").last ?? ""
            }
        }
        #expect(seen.filter { $0.count == 7 }.count == 60)
        let anna = try fixture.page("\(UserTests.project)?q=%2B1555555")
        #expect(anna.text.contains("anna@example.org") && !anna.text.contains("user100"))
        #expect(try fixture.page("\(UserTests.project)?q=nobody").text.contains("No user is found"))
    }

    // MARK: - One user

    @Test("a disabled user is refused, and may sign in again once enabled") func disable() throws {
        let path = path(try signUp("max@example.com"))
        #expect(try press("Disable: max@example.com", on: path).status == 303)
        #expect(try signIn("max@example.com").text.contains("USER_DISABLED"))
        #expect(try fixture.page(UserTests.project).text.contains("disabled"))
        #expect(try press("Enable: max@example.com", on: path).status == 303)
        #expect(try signIn("max@example.com").status == 200)
    }

    @Test("sessions are revoked, one or all") func sessions() throws {
        func refresh(_ token: String?) throws -> Int {
            try client.post(
                "/securetoken.googleapis.com/v1/token?key=demo-api-key",
                form: ["grant_type": "refresh_token", "refresh_token": token ?? ""]
            ).status
        }
        let first = try signUp("max@example.com")
        let second = try signIn("max@example.com")
        let path = path(first)
        // The newest session is first.
        #expect(try press("Revoke: refresh token, password", on: path).status == 303)
        #expect(try refresh(second["refreshToken"]) == 400)
        #expect(try refresh(first["refreshToken"]) == 200)
        #expect(try press("Revoke all sessions: max@example.com", on: path).status == 303)
        #expect(try refresh(first["refreshToken"]) == 400)
        #expect(!(try fixture.page(path).text.contains("Revoke all sessions")))
    }

    @Test("an identity is unlinked, a password and a second factor removed") func ways() throws {
        let user = try signUp("max@example.com")
        let (path, id) = (path(user), user["localId"] ?? "")
        let link = ["providerId": "github.com", "rawId": "1815", "email": "ada@example.com", "screenName": "ada"]
        #expect(try administer("update", ["localId": id, "linkProviderUserInfo": link]).status == 200)
        let factor = ["mfaEnrollmentId": "one", "phoneInfo": "+15555550144", "displayName": "my phone"]
        #expect(
            try administer("update", ["localId": id, "emailVerified": true, "mfa": ["enrollments": [factor]]]).status
                == 200)
        let page = try fixture.page(path).text
        #expect(page.contains("github.com") && page.contains("1815") && page.contains("my phone"))
        // The person with that number at GitHub is linked.
        #expect(page.contains("/_understudy/people/ada\""))
        #expect(try press("Unlink: github.com", on: path).status == 303)
        #expect(try press("Remove: my phone", on: path).status == 303)
        let after = try fixture.page(path).text
        #expect(!after.contains("github.com") && !after.contains("my phone"))
        #expect(try press("Remove: password", on: path).status == 303)
        #expect(try signIn("max@example.com").status == 400)
    }

    @Test("a password reset lands in the outbox") func reset() throws {
        let path = path(try signUp("max@example.com"))
        #expect(try press("Send a password reset: max@example.com", on: path).status == 303)
        let codes = try client.get("/emulator/v1/projects/demo-app/oobCodes").text
        #expect(codes.contains("PASSWORD_RESET") && codes.contains("max@example.com"))
    }

    // MARK: - Forms

    @Test("a user is made, changed and deleted") func make() throws {
        let made = try fixture.submit(
            "new/user/firebase%3Ademo-app",
            [
                "field.email": "eve@example.com", "field.password": "secret12", "field.displayName": "Eve",
                "field.customClaims": #"{"role":"admin"}"#,
            ], from: "new/user/firebase%3Ademo-app")
        #expect(made.status == 303)
        #expect(try signIn("eve@example.com").status == 200)
        let path = String(
            (made.location.components(separatedBy: "/_understudy/").last ?? "").prefix { $0 != "?" })
        let page = try fixture.page(path).text
        #expect(page.contains("Eve") && page.contains("role") && page.contains("admin"))
        let form = try fixture.page("\(path)/edit")
        let changed = try fixture.submit(
            "\(path)/edit",
            [
                "field.displayName": "", "field.emailVerified": "on", "field.password": "another1",
                "field.customClaims": #"{"role":"admin"}"#, "earlier": form.inputs["earlier"] ?? "",
            ], from: "\(path)/edit")
        #expect(changed.status == 303)
        #expect(try signIn("eve@example.com", "another1").status == 200)
        #expect(!(try fixture.page(path).text.contains("<h1>Eve</h1>")))
        #expect(try fixture.submit("\(path)/delete", [:], from: path).status == 303)
        #expect(try signIn("eve@example.com", "another1").status == 400)
        #expect(try fixture.page(path).status == 404)
    }

    @Test(
        "what the service refuses stands at its field",
        arguments: [
            (["field.email": "max@example.com"], "field.email-fault", "EMAIL_EXISTS"),
            (["field.email": "new@example.com", "field.password": "short"], "field.password-fault", "WEAK_PASSWORD"),
            (["field.customClaims": #"{"iss":"x"}"#], "field.customClaims-fault", "FORBIDDEN_CLAIM"),
            (["field.phoneNumber": "12"], "field.phoneNumber-fault", "E.164"),
            (["field.email": "none"], "field.email-fault", "e-mail address"),
        ])
    func faults(fields: [String: String], place: String, words: String) throws {
        _ = try signUp("max@example.com")
        let answer = try fixture.submit(
            "new/user/firebase%3Ademo-app", fields, from: "new/user/firebase%3Ademo-app")
        #expect(answer.status == 400)
        #expect(answer.text.contains("id=\"\(place)\"") && answer.text.contains(words))
    }

    @Test("two windows: a change of the same field is asked about") func conflict() throws {
        let user = try signUp("max@example.com")
        let path = path(user)
        let earlier = try fixture.page("\(path)/edit").inputs["earlier"] ?? ""
        #expect(
            try administer("update", ["localId": user["localId"] ?? "", "displayName": "Other"]).status == 200)
        let refused = try fixture.submit(
            "\(path)/edit", ["field.displayName": "Mine", "earlier": earlier], from: "\(path)/edit")
        #expect(refused.status == 409 && refused.text.contains("changed this field to Other"))
        let other = try fixture.submit(
            "\(path)/edit", ["field.phoneNumber": "+15555550155", "earlier": earlier], from: "\(path)/edit")
        #expect(other.status == 303)
        #expect(try fixture.page(path).text.contains("+15555550155"))
        #expect(try fixture.page(path).text.contains("Other"))
    }

    @Test("a user's name is text, however long") func hostile() throws {
        let name = "<script>alert(1)</script>\u{202E}" + String(repeating: "x", count: 200)
        let user = try signUp("max@example.com", ["displayName": name])
        for path in [UserTests.project, path(user), "\(path(user))/edit"] {
            let page = try fixture.page(path)
            #expect(page.status == 200 && !page.text.contains("<script>"))
        }
        let odd = "a/../b?c#d"
        _ = try administer("update", ["localId": "none"])
        let data = try JSONSerialization.data(withJSONObject: ["users": [["localId": odd]]])
        _ = try client.request(
            "POST", "\(UserTests.toolkit)/projects/demo-app/accounts:batchCreate",
            headers: ["Authorization": "Bearer owner", "Content-Type": "application/json"], body: Array(data))
        #expect(try fixture.page("\(UserTests.project)/a%2F..%2Fb%3Fc%23d").status == 200)
    }

    @Test("nothing of it is recorded") func recording() throws {
        let path = path(try signUp("max@example.com"))
        let before = try client.get("/_understudy/v1/requests").json["total"] as? Int
        try press("Disable: max@example.com", on: path)
        #expect(try client.get("/_understudy/v1/requests").json["total"] as? Int == before)
    }
}
