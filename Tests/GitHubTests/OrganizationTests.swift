import Foundation
import TestSupport
import Testing

@Suite("GitHub: organizations and teams")
struct OrganizationTests {
    let fixture: GitHubFixture

    init() throws { fixture = try GitHubFixture() }

    private func logins(_ answer: Answer) -> [String] { answer.list.compactMap { $0["login"] as? String } }

    @Test("lists need read:org or user, and leave out organizations that restrict apps")
    func lists() throws {
        let token = try fixture.token(scope: "read:org")
        #expect(logins(try fixture.get("/user/orgs", token: token)) == ["analytical-engines"])
        #expect(logins(try fixture.get("/user/orgs", token: fixture.token(scope: "user"))) == ["analytical-engines"])
        let refused = try fixture.get("/user/orgs", token: fixture.token(scope: "gist"))
        #expect(refused.status == 403)
        #expect(refused["message"] == "You need at least read:org scope or user scope to list your organizations.")
        #expect(logins(try fixture.get("/users/ada/orgs")) == ["analytical-engines"])
        #expect(logins(try fixture.get("/users/grace/orgs")).isEmpty)
        #expect(try fixture.get("/orgs/Analytical-Engines")["name"] == "Analytical Engines")
        #expect(try fixture.get("/orgs/nothing").status == 404)
    }

    @Test(
        "what has the same number in two organizations is told apart by the organization's; alone, the first is meant")
    func numbers() throws {
        let fixture = try GitHubFixture(
            seed: #"""
                {"accounts":[{"id":"ada","github":{"orgs":["two","one"]}}],
                 "github":{"orgs":[
                    {"login":"one","id":1,"teams":[{"slug":"A","id":5,"members":["ada"]}]},
                    {"login":"two","id":2,"teams":[{"slug":"z","id":4},{"slug":"B","id":5,"maintainers":["ada"]}]}]}}
                """#)
        let token = try fixture.token(scope: "read:org")
        #expect(try fixture.get("/organizations/1/team/5", token: token)["slug"] == "A")
        #expect(try fixture.get("/organizations/2/team/5", token: token)["slug"] == "B")
        #expect(try fixture.get("/organizations/3/team/5", token: token).status == 404)
        #expect(try fixture.get("/organizations/x/team/5", token: token).status == 404)
        #expect(try fixture.get("/teams/5", token: token)["slug"] == "A")
        #expect(try fixture.get("/orgs/two/teams/b", token: token)["slug"] == "B")
        #expect(try fixture.get("/organizations/2")["login"] == "two")
        #expect(try fixture.get("/organizations/3").status == 404)
        let teams = try fixture.get("/user/teams", token: token).list
        #expect(teams.compactMap { $0["slug"] as? String } == ["programmers", "A", "B"])
        // Organizations come in the order of the seed, not of the person.
        #expect(logins(try fixture.get("/user/orgs", token: token)) == ["analytical-engines", "one", "two"])
    }

    @Test("an organization that restricts apps says so, until it approves the app")
    func restrictions() throws {
        let token = try fixture.token(scope: "read:org")
        let refused = try fixture.get("/user/memberships/orgs/restricted-engines", token: token)
        #expect(refused.status == 403)
        #expect(
            refused["message"]?.hasPrefix(
                "Although you appear to have the correct authorization credentials, the `restricted-engines` organization "
                    + "has enabled OAuth App access restrictions") ?? false)
        #expect(refused.diagnosis.contains("approvedApps"))
        let approving = try GitHubFixture(
            seed: #"{"github":{"orgs":[{"login":"restricted-engines","approvedApps":["Ov23liAutoAnswers001"]}]}}"#)
        let approved = try approving.token(scope: "read:org")
        #expect(
            logins(try approving.get("/user/orgs", token: approved)) == ["analytical-engines", "restricted-engines"])
        #expect(try approving.get("/user/memberships/orgs/restricted-engines", token: approved)["state"] == "active")
    }

    @Test("single sign-on keeps an organization back")
    func samlEnforcement() throws {
        let fixture = try GitHubFixture(
            seed: #"{"github":{"orgs":[{"login":"analytical-engines","samlEnforced":true}]}}"#)
        let token = try fixture.token(scope: "read:org")
        let refused = try fixture.get("/orgs/analytical-engines/members/grace", token: token)
        #expect(refused.status == 403)
        #expect(
            refused["message"]
                == "Resource protected by organization SAML enforcement. You must grant your OAuth token access to this organization."
        )
        #expect(refused.header("X-GitHub-SSO")?.hasPrefix("required; url=") ?? false)
        let list = try fixture.get("/user/orgs", token: token)
        #expect(list.list.isEmpty)
        #expect(list.header("X-GitHub-SSO") == "partial-results; organizations=1842")
    }

    @Test("memberships: state and role, pending ones too")
    func memberships() throws {
        let token = try fixture.token(scope: "read:org")
        let mine = try fixture.get("/user/memberships/orgs/analytical-engines", token: token)
        #expect(mine["state"] == "active")
        #expect(mine["role"] == "admin")
        #expect((mine.json["organization"] as? [String: Any])?["login"] as? String == "analytical-engines")
        #expect(try fixture.get("/user/memberships/orgs", token: token).list.count == 1)
        let grace = try fixture.get("/orgs/analytical-engines/memberships/grace", token: token)
        #expect(grace["role"] == "member")
        #expect(try fixture.get("/orgs/analytical-engines/memberships/linus", token: token).status == 404)
        #expect(try fixture.get("/user/memberships/orgs", token: fixture.token(scope: "gist")).status == 403)
        let pending = try GitHubFixture(
            seed: #"{"github":{"orgs":[{"login":"analytical-engines","pendingMembers":["grace"]}]}}"#)
        let hers = try pending.token(scope: "read:org", account: "grace")
        #expect(try pending.get("/user/memberships/orgs?state=pending", token: hers).list.count == 1)
        #expect(try pending.get("/user/memberships/orgs?state=active", token: hers).list.isEmpty)
        #expect(try pending.get("/user/orgs", token: hers).list.isEmpty)
    }

    @Test("whether somebody is a member: 204, 404, or 302 for those who may not know")
    func members() throws {
        let token = try fixture.token(scope: "read:org")
        #expect(try fixture.get("/orgs/analytical-engines/members/grace", token: token).status == 204)
        #expect(try fixture.get("/orgs/analytical-engines/members/linus", token: token).status == 404)
        let stranger = try fixture.get(
            "/orgs/analytical-engines/members/grace", token: fixture.token(scope: "read:org", account: "grace"))
        #expect(stranger.status == 204)
        let outside = try fixture.get("/orgs/analytical-engines/members/grace")
        #expect(outside.status == 302)
        #expect(outside.location.hasSuffix("/orgs/analytical-engines/public_members/grace"))
        #expect(try fixture.get("/orgs/analytical-engines/public_members/grace").status == 404)
        #expect(try fixture.get("/orgs/analytical-engines/public_members/ada").status == 204)
        #expect(logins(try fixture.get("/orgs/analytical-engines/members", token: token)) == ["ada", "grace"])
        #expect(logins(try fixture.get("/orgs/analytical-engines/members")) == ["ada"])
        #expect(logins(try fixture.get("/orgs/analytical-engines/public_members")) == ["ada"])
    }

    @Test("Link names the neighbours, with last wherever there is a next")
    func pages() throws {
        let people = (1...7).map { #"{"id":"m\#($0)","github":{"orgs":["analytical-engines"]}}"# }.joined(
            separator: ",")
        let fixture = try GitHubFixture(seed: #"{"accounts":[\#(people)]}"#)
        let token = try fixture.token(scope: "read:org")
        func page(_ query: String) throws -> (Int, [String]) {
            let answer = try fixture.get("/orgs/analytical-engines/members\(query)", token: token)
            let links = (answer.header("Link") ?? "").matches(of: /page=(\d+)>; rel="(\w+)"/).map { "\($0.2) \($0.1)" }
            return (answer.list.count, links)
        }
        #expect(try page("") == (9, []))
        #expect(try page("?per_page=4") == (4, ["next 2", "last 3"]))
        #expect(try page("?per_page=4&page=2") == (4, ["prev 1", "next 3", "last 3", "first 1"]))
        #expect(try page("?per_page=4&page=3") == (1, ["prev 2", "first 1"]))
        #expect(try page("?per_page=4&page=99") == (0, ["prev 3", "first 1"]))
        #expect(try page("?per_page=0&page=-1").0 == 1)
        #expect(try page("?per_page=x&page=y").0 == 9)
        #expect(try page("?per_page=1000").0 == 9)
    }

    @Test("teams: by name and by number, for members of the organization")
    func teams() throws {
        let token = try fixture.token(scope: "read:org")
        let mine = try fixture.get("/user/teams", token: token)
        #expect(mine.list.first?["slug"] as? String == "programmers")
        #expect((mine.list.first?["organization"] as? [String: Any])?["login"] as? String == "analytical-engines")
        #expect(try fixture.get("/orgs/analytical-engines/teams", token: token).list.count == 1)
        #expect(try fixture.get("/orgs/analytical-engines/teams/programmers", token: token)["name"] == "Programmers")
        #expect(
            logins(try fixture.get("/orgs/analytical-engines/teams/programmers/members", token: token)) == [
                "ada", "grace",
            ])
        let role = try fixture.get("/orgs/analytical-engines/teams/programmers/memberships/ada", token: token)
        #expect(role["role"] == "maintainer")
        #expect(try fixture.get("/teams/1843", token: token)["slug"] == "programmers")
        #expect(try fixture.get("/teams/1843/members/grace", token: token).status == 204)
        #expect(try fixture.get("/teams/1843/members/linus", token: token).status == 404)
        #expect(try fixture.get("/teams/1843/memberships/grace", token: token)["role"] == "member")
        #expect(logins(try fixture.get("/teams/1843/members", token: token)) == ["ada", "grace"])
        // The form of the URLs in answers, which clients follow.
        #expect(try fixture.get("/organizations/1842/team/1843", token: token)["slug"] == "programmers")
        #expect(logins(try fixture.get("/organizations/1842/team/1843/members", token: token)) == ["ada", "grace"])
        #expect(try fixture.get("/organizations/1842/team/1843/memberships/ada", token: token)["role"] == "maintainer")
        #expect(try fixture.get("/organizations/1847/team/1843", token: token).status == 404)
        #expect(try fixture.get("/organizations/1842", token: token)["login"] == "analytical-engines")
        #expect(try fixture.get("/teams/99", token: token).status == 404)
        #expect(try fixture.get("/user/teams", token: fixture.token(scope: "gist")).status == 404)
        let outsider = try fixture.token(scope: "read:org", account: "grace")
        #expect(try fixture.get("/orgs/restricted-engines/teams", token: outsider).status == 403)
        let missing = try fixture.get("/orgs/analytical-engines/teams/programers", token: token)
        #expect(missing.status == 404)
        #expect(missing.diagnosis.contains("\"programmers\""))
    }
}
