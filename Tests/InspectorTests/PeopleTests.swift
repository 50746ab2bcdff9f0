import Foundation
import TestSupport
import Testing

/// The pages of people: the list, one person, and the form in which people are made and changed.
@Suite struct PeopleTests {
    private static let control = "/_understudy/v1"
    private let fixture: InspectorFixture
    private var client: TestClient { fixture.client }

    init() throws { fixture = try InspectorFixture() }

    private func add(_ account: [String: Any]) throws {
        #expect(try client.post("\(PeopleTests.control)/accounts", json: account).status == 201)
    }

    private func account(_ id: String) throws -> [String: Any] {
        try client.get("\(PeopleTests.control)/accounts/\(id)").json
    }

    /// Returns the values that a form stores from when it was made.
    private func earlier(_ id: String) throws -> String {
        try #require(try fixture.page("people/\(id)/edit").inputs["earlier"])
    }

    // MARK: - The list

    @Test("people are listed some at a time, and found by how their names begin") func list() throws {
        for number in 100..<170 { try add(["id": "person\(number)", "name": ["given": "Zoë"]]) }
        let first = try fixture.page("people")
        #expect(first.status == 200)
        #expect(first.text.contains("Ada Lovelace") && first.text.contains("73 people"))
        #expect(first.text.contains("person146") && !first.text.contains("person147"))
        let next = try fixture.page("people?after=person146")
        #expect(next.text.contains("person147") && next.text.contains("person169") && next.text.contains("First page"))
        let found = try fixture.page("people?q=love")
        #expect(found.text.contains("Ada Lovelace") && !found.text.contains("Grace Hopper"))
        #expect(try fixture.page("people?q=zoe").text.contains("Nobody is found"))
    }

    @Test("a person is another one in another world") func worlds() throws {
        let fixture = try InspectorFixture(isAlone: true)
        #expect(try fixture.submit("new/person", ["field.id": "max"], from: "new/person", world: "other").status == 303)
        #expect(try fixture.page("people/max", world: "other").status == 200)
        #expect(try fixture.page("people/max").status == 404)
        #expect(!(try fixture.page("people").text.contains("people/max")))
    }

    // MARK: - Forms

    @Test("a person is made from the fields of the seed") func make() throws {
        let form = try fixture.page("new/person")
        for field in ["id", "name.given", "github.login", "apple.shareEmail", "openid.claims"] {
            #expect(form.text.contains("name=\"field.\(field)\""))
        }
        let sent = [
            "field.id": "max", "field.name.given": "Max", "field.emailVerified": "on",
            "field.apple.realUserStatus": "likelyReal", "field.github.login": "maxi", "field.github.plan": "pro",
            "field.github.followers": "7", "field.openid.groups": "a\r\nb", "field.openid.claims": #"{"x":[1]}"#,
        ]
        let answer = try fixture.submit("new/person", sent, from: "new/person")
        #expect(answer.status == 303 && answer.location.contains("/_understudy/people/max?notice="))
        let made = try account("max")
        #expect((made["github"] as? [String: Any])?["login"] as? String == "maxi")
        #expect((made["github"] as? [String: Any])?["followers"] as? Int == 7)
        #expect((made["openid"] as? [String: Any])?["groups"] as? [String] == ["a", "b"])
        // A box that isn't ticked means no.
        #expect((made["apple"] as? [String: Any])?["shareEmail"] as? Bool == false)
        #expect(made["email"] as? String == "max@example.com")
    }

    @Test(
        "what is wrong stands at its field, and the input stays",
        arguments: [
            ("field.email", "no address", "field.email-fault"), ("field.github.id", "many", "field.github.id-fault"),
            ("field.openid.claims", "{", "field.openid.claims-fault"),
            ("field.github.emails", #"[{"email":"x"}]"#, "field.github.emails-fault"),
        ])
    func faults(field: String, input: String, place: String) throws {
        let answer = try fixture.submit("people/ada/edit", [field: input], from: "people/ada/edit")
        #expect(answer.status == 400)
        #expect(answer.text.contains("id=\"\(place)\"") && answer.text.contains("aria-invalid=\"true\""))
        #expect(answer.text.contains("Nothing was changed"))
        #expect(try account("ada")["email"] as? String == "ada@example.com")
    }

    @Test("an ID that is taken is said at the ID") func taken() throws {
        let answer = try fixture.submit("new/person", ["field.id": "ada"], from: "new/person")
        #expect(answer.status == 409 && answer.text.contains("field.id-fault"))
    }

    @Test("only what was changed in the form changes, and what follows from it") func edit() throws {
        try add(["id": "max"])
        let answer = try fixture.submit(
            "people/max/edit",
            ["field.email": "new@example.com", "field.emailVerified": "on", "field.apple.shareEmail": "on"],
            from: "people/max/edit")
        #expect(answer.status == 303)
        let changed = try account("max")
        #expect(changed["email"] as? String == "new@example.com")
        let emails = (changed["github"] as? [String: Any])?["emails"] as? [[String: Any]]
        #expect(emails?.first?["email"] as? String == "new@example.com")
        // A cleared field gets its default back.
        _ = try fixture.submit(
            "people/max/edit",
            ["field.email": "", "field.emailVerified": "on", "field.apple.shareEmail": "on"], from: "people/max/edit")
        #expect(try account("max")["email"] as? String == "max@example.com")
    }

    @Test("two windows: what both changed is asked about, the rest goes together") func conflict() throws {
        let earlier = try earlier("ada")
        let boxes = ["field.emailVerified": "on", "field.apple.shareEmail": "on", "earlier": earlier]
            .merging(["field.github.twoFactorAuthentication": "on"]) { $1 }
        func save(_ fields: [String: String]) throws -> Answer {
            try fixture.submit("people/ada/edit", boxes.merging(fields) { $1 }, from: "people/ada/edit")
        }
        #expect(try save(["field.name.given": "Augusta"]).status == 303)
        // This form is older than the change, and keeps it.
        #expect(try save(["field.phoneNumber": "+15555550199"]).status == 303)
        #expect((try account("ada")["name"] as? [String: Any])?["given"] as? String == "Augusta")
        #expect(try account("ada")["phoneNumber"] as? String == "+15555550199")
        let refused = try save(["field.name.given": "Adele"])
        #expect(refused.status == 409)
        #expect(refused.text.contains("somebody else has changed this field to Augusta"))
        #expect(refused.text.contains("value=\"Adele\""))
        // The answer is a form with the present values.
        let now = try #require(refused.inputs["earlier"])
        #expect(try save(["field.name.given": "Adele", "earlier": now]).status == 303)
        #expect((try account("ada")["name"] as? [String: Any])?["given"] as? String == "Adele")
    }

    @Test("a person is deleted, and whoever has their page open is told") func delete() throws {
        #expect(try fixture.submit("people/ada/delete", [:], from: "people/ada").status == 303)
        #expect(try client.get("\(PeopleTests.control)/accounts/ada").status == 404)
        let gone = try fixture.submit("people/ada/edit", ["field.email": "a@b.example"], from: "people/grace/edit")
        #expect(gone.status == 404 && gone.text.contains("it was deleted"))
        #expect(try fixture.submit("people/ada/act", ["action": "x"], from: "people/grace").status == 404)
    }

    @Test("nothing is changed without the token of the daemon's pages", arguments: ["act", "delete", "edit"])
    func forged(call: String) throws {
        let path = "/_understudy/people/ada/\(call)"
        #expect(try client.post(path, form: ["field.email": "x@example.com", "action": "x"]).status == 403)
        #expect(try account("ada")["email"] as? String == "ada@example.com")
    }

    // MARK: - Hostile names

    @Test("whatever a name is, it is text") func hostile() throws {
        let name = "</h1><script>alert(1)</script>\u{202E}\u{0}"
        try add([
            "id": "eve", "name": ["given": name, "family": "\"'><img src=x onerror=alert(1)>"],
            "github": ["login": "eve", "bio": String(repeating: "<b>", count: 2_700)],
            "openid": ["sub": "\u{202E}</code><script>"],
        ])
        for path in ["people", "people/eve", "people/eve/edit", "people?q=%3Cscript%3E"] {
            let page = try fixture.page(path)
            #expect(page.status == 200)
            #expect(!page.text.contains("<script>") && !page.text.contains("<img") && !page.text.contains("<b>"))
        }
        #expect(!(try fixture.page("people/eve").text.contains("\u{202E}")))
        // A form that changes another field keeps such a name.
        let answer = try fixture.submit(
            "people/eve/edit",
            [
                "field.name.given": name.replacingOccurrences(of: "\0", with: "\u{FFFD}"),
                "field.phoneNumber": "+15555550111", "field.emailVerified": "on", "field.apple.shareEmail": "on",
            ], from: "people/eve/edit")
        #expect(answer.status == 303)
        #expect((try account("eve")["name"] as? [String: Any])?["given"] as? String == name)
    }

    @Test("IDs of dots have an address, too", arguments: [".", ".."]) func dots(id: String) throws {
        try add(["id": id])
        #expect(try fixture.page("people").text.contains("people/%3D\(id)\""))
        #expect(try fixture.page("people/%3D\(id)").status == 200)
    }
}
