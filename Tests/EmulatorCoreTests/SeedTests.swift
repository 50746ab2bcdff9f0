import Foundation
import JOSE
import EmulatorCore
import TestSupport
import Testing
import Understudy

@Suite("Seeds")
struct SeedTests {
    static let directory = "\(Repository.root)/seed-data"

    private func faults(_ texts: String...) -> [String] {
        SeedInput.faults(in: texts.map { .json($0, directory: SeedTests.directory) })
    }

    @Test("the default seed is valid, from its file, from its directory and built in")
    func defaultSeed() {
        #expect(SeedInput.faults(in: [.builtIn]) == [])
        #expect(SeedInput.faults(in: [.path("\(SeedTests.directory)/default.json")]) == [])
        #expect(SeedInput.faults(in: [.path(SeedTests.directory)]) == [])
    }

    @Test("the seeds in the documentation are valid", arguments: ["seeds", "orders", "firebase", "openid"])
    func documentation(page: String) throws {
        let seeds = try Repository.read("docs/\(page).md").components(separatedBy: "```json\n").dropFirst().compactMap {
            $0.components(separatedBy: "```").first
        }
        #expect(!seeds.isEmpty)
        // Orders name clients and people of the built-in seed.
        let others: [SeedInput] = page == "orders" ? [.builtIn] : []
        for seed in seeds {
            #expect(SeedInput.faults(in: others + [.json(seed, directory: SeedTests.directory)]) == [])
        }
    }

    @Test("the committed JSON Schema is the one that is printed")
    func schema() throws {
        #expect(try Repository.read("seed-data/schema.json") == SeedInput.schema)
    }

    @Test("the committed reference is the one that is printed")
    func reference() throws {
        #expect(try Repository.read("docs/seed.md") == SeedInput.reference)
    }

    @Test(
        "each fault names its place, what was found and what was expected",
        arguments: [
            (
                #"{"apple":{"teams":[{"id":"A1B2C3D4E5","relay":{"domains":["@example.com"]}}]}}"#,
                "$.apple.teams[0].relay.domains[0]: found a string (\"@example.com\"), expected a domain such as"
            ),
            (
                #"{"apple":{"teams":[{"id":"A1B2C3D4E5","relay":{"domains":["ok.example","example.com."]}}]}}"#,
                "$.apple.teams[0].relay.domains[1]"
            ),
            ("[]", "seed: $: found an array, expected an object"),
            ("{", "seed: $: not JSON"),
            (#"{"acounts":[]}"#, #"seed: $.acounts: unknown key "acounts"; did you mean "accounts"?"#),
            (#"{"zzzzzz":1}"#, #"unknown key "zzzzzz"; known here: $schema, accounts"#),
            (#"{"accounts":{}}"#, "seed: $.accounts: found an object, expected an array"),
            (#"{"accounts":[{}]}"#, #"seed: $.accounts[0]: the key "id" is missing"#),
            (#"{"accounts":[{"id":7}]}"#, "seed: $.accounts[0].id: found a number (7), expected an identifier"),
            (#"{"accounts":[{"id":"a b"}]}"#, #"$.accounts[0].id: found a string ("a b"), expected an identifier"#),
            (#"{"accounts":[{"id":"a"},{"id":"a"}]}"#, #"$.accounts[1].id: id "a" is already at $.accounts[0].id"#),
            (#"{"accounts":[{"id":"a","email":"x"}]}"#, "$.accounts[0].email: found a string"),
            (#"{"accounts":[{"id":"a","emailVerified":"yes"}]}"#, "expected true or false"),
            (#"{"accounts":[{"id":"a","phoneNumber":"12"}]}"#, "expected a phone number in E.164"),
            (
                #"{"accounts":[{"id":"a","apple":{"realUserStatus":"real"}}]}"#,
                #"expected one of "unsupported", "unknown", "likelyReal""#
            ),
            (#"{"accounts":[{"id":"a","github":{"orgs":["nope"]}}]}"#, #"no organization "nope" in github.orgs"#),
            (#"{"accounts":[{"id":"a","github":{"id":0}}]}"#, "expected a whole number from 1"),
            (
                #"{"accounts":[{"id":"a","github":{"login":"x"}},{"id":"b","github":{"login":"x"}}]}"#,
                #""x" is already used as the login of another person"#
            ),
            (#"{"apple":{"issuer":"Provider"}}"#, #"did you mean "provider"?"#),
            (#"{"apple":{"codeLifetime":"5 minutes"}}"#, "expected a duration such as"),
            (#"{"apple":{"teams":[{"id":"short"}]}}"#, "$.apple.teams[0].id: found a string"),
            (
                #"{"apple":{"teams":[{"id":"A1B2C3D4E5","services":[{"id":"s","primaryApp":"com.x"}]}]}}"#,
                #"seed: $.apple.teams[0].services[0].primaryApp: no app "com.x" in team "A1B2C3D4E5""#
            ),
            (
                #"{"apple":{"teams":[{"id":"A1B2C3D4E5","apps":[{"bundleID":"c"}],"services":[{"id":"c","primaryApp":"c"}]}]}}"#,
                #"client_id "c" is already taken at $.apple.teams[0].apps[0].bundleID"#
            ),
            (
                #"{"openid":{"issuers":[{"id":"a","issuer":"https://x.example/t"},{"id":"b","issuer":"https://x.example/t/"}]}}"#,
                #"seed: $.openid.issuers[1].issuer: is at the same address as "a""#
            ),
            (
                #"{"openid":{"issuers":[{"id":"a","issuer":"https://oidc.example/b"},{"id":"b"}]}}"#,
                #"is at the same address as "a""#
            ),
            (
                #"{"openid":{"issuers":[{"id":"a","paths":{"token":"/authorize"}}]}}"#,
                #""/authorize" is the path of two endpoints"#
            ),
            (#"{"openid":{"issuers":[{"id":".."}]}}"#, "expected a name of more than dots"),
            (
                #"{"apple":{"teams":[{"id":"A1B2C3D4E5","keys":[{"id":"ABC123DEFG"}]}]}}"#,
                #"the member "publicKeyFile" (or "publicKey") is missing"#
            ),
            (
                #"{"apple":{"teams":[{"id":"A1B2C3D4E5","keys":[{"id":"ABC123DEFG","publicKeyFile":"keys/AuthKey_ABC123DEFG.pub.pem","privateKeyFile":"keys/AuthKey_ZYX987WVUT.p8"}]}]}}"#,
                "$.apple.teams[0].keys[0].privateKey: the private key doesn't match the public key beside it"
            ),
            (
                #"{"apple":{"teams":[{"id":"A1B2C3D4E5","keys":[{"id":"ABC123DEFG","privateKeyFile":"keys/AuthKey_ABC123DEFG.pub.pem"}]}]}}"#,
                "expected a P-256 private key"
            ),
            (
                #"{"apple":{"teams":[{"id":"A1B2C3D4E5","keys":[{"id":"ABC123DEFG","publicKeyFile":"nope.pem"}]}]}}"#,
                #"$.apple.teams[0].keys[0].publicKeyFile: the file "nope.pem" can't be read"#
            ),
            (
                #"{"apple":{"teams":[{"id":"A1B2C3D4E5","keys":[{"id":"ABC123DEFG","publicKeyFile":"keys/apple-signing-1.pem"}]}]}}"#,
                "expected a P-256 public key"
            ),
            (
                #"{"apple":{"teams":[{"id":"A1B2C3D4E5","keys":[{"id":"ABC123DEFG","publicKey":"x"}]}]}}"#,
                "not a usable key: no PEM block"
            ),
            (
                #"{"apple":{"signingKeys":[{"id":"KEY0000001","privateKeyFile":"keys/AuthKey_ABC123DEFG.p8"}]}}"#,
                "expected an RSA private key of 2048 bits"
            ),
            (
                #"{"apple":{"teams":[{"id":"A1B2C3D4E5","apps":[{"bundleID":"a","transfer":{"fromTeam":"ZZZZZZZZZZ","at":"2026-01-01T00:00:00Z"}}]}]}}"#,
                #"no team "ZZZZZZZZZZ" in apple.teams"#
            ),
            (#"{"interaction":{"account":"nobody"}}"#, #"$.interaction.account: no account "nobody" in accounts"#),
            (
                #"{"firebase":{"projects":[{"id":"p","providers":{"apple.com":{"teamID":"ZZZZZZZZZZ"}}}]}}"#,
                #"seed: $.firebase.projects[0].providers["apple.com"].teamID: no team "ZZZZZZZZZZ""#
            ),
            (
                #"{"firebase":{"projects":[{"id":"p","providers":{"github.com":{"clientID":"x"}}}]}}"#,
                #"no OAuth app "x" in github.oauthApps"#
            ),
            (
                #"{"firebase":{"projects":[{"id":"p","apiKeys":["k"]},{"id":"q","apiKeys":["k"]}]}}"#,
                #"API key "k" is already taken at $.firebase.projects[0].apiKeys[0]"#
            ),
            (#"{"clock":{"set":"yesterday"}}"#, "expected a time such as"),
            (#"{"clock":{"set":7}}"#, "found a number (7), expected a time such as \"2030-01-01T00:00:00Z\""),
        ])
    func fault(text: String, expected: String) {
        let found = faults(text)
        #expect(found.contains { $0.contains(expected) }, "\(found)")
    }

    @Test("all faults of all files come at once, each with its file")
    func allAtOnce() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "understudy-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try #"{"accounts":[{"id":7},{"id":"a","emial":1}]}"#.write(
            to: folder.appending(path: "a.json"), atomically: true, encoding: .utf8)
        try #"{"apple":{"issuer":1},"interaction":{"account":"nobody"}}"#.write(
            to: folder.appending(path: "b.json"), atomically: true, encoding: .utf8)
        let found = SeedInput.faults(in: [.path(folder.path())])
        #expect(found.count == 4)
        #expect(found.filter { $0.contains("a.json: $.accounts") }.count == 2)
        #expect(found.contains { $0.contains("b.json: $.apple.issuer") })
        #expect(found.contains { $0.contains("b.json: $.interaction.account") })
    }

    @Test("a name that two files give to different owners is a fault, wherever it stands in them")
    func takenAcrossFiles() throws {
        func team(_ id: String) -> String {
            #"{"apple":{"teams":[{"id":"\#(id)","apps":[{"bundleID":"com.same"}]}]},"accounts":[{"id":"\#(id)","github":{"id":7}}]}"#
        }
        let found = faults(team("A1B2C3D4E5"), team("F6G7H8J9K0"))
        let taken = #"client_id "com.same" is already taken at $.apple.teams[0].apps[0].bundleID"#
        #expect(found.contains { $0.contains(taken) })
        #expect(found.contains { $0.contains("7 is already used as the id of another person") })
        #expect(faults(team("A1B2C3D4E5"), team("A1B2C3D4E5")) == [])
    }

    @Test("files merge in order: lists by their key, objects member by member, scalars replaced")
    func merging() throws {
        let fixture = try AppleFixture(
            seed:
                #"{"accounts":[{"id":"ada","name":{"family":"King"}},{"id":"new"}],"apple":{"teams":[{"id":"A1B2C3D4E5","services":[{"id":"com.example.web","primaryApp":"com.example.app","returnURLs":["https://example.org/added"]}]}]}}"#
        )
        let answer = try fixture.client.get("\(AppleFixture.control)/accounts")
        let accounts = answer.json["accounts"] as? [[String: Any]] ?? []
        #expect(accounts.compactMap { $0["id"] as? String } == ["ada", "grace", "linus", "new"])
        let name = accounts.first?["name"] as? [String: String]
        #expect(name == ["given": "Ada", "family": "King"])
        for url in ["https://example.com/callback", "https://example.org/added"] {
            #expect(try fixture.authorize(["redirect_uri": url]).status == 302)
        }
    }

    @Test("everything but identifiers has a default")
    func defaults() throws {
        let fixture = try AppleFixture(seeds: [.json(#"{"accounts":[{"id":"zoe"}]}"#)])
        let account = try fixture.client.get("\(AppleFixture.control)/accounts/zoe").json
        #expect(account["email"] as? String == "zoe@example.com")
        #expect(account["emailVerified"] as? Bool == true)
        #expect((account["name"] as? [String: String])?["given"] == "Zoe")
        let github = account["github"] as? [String: Any]
        #expect(github?["login"] as? String == "zoe")
        #expect((github?["emails"] as? [[String: Any]])?.first?["email"] as? String == "zoe@example.com")
        #expect(((account["facebook"] as? [String: Any])?["id"] as? String)?.count == 17)
    }
}
