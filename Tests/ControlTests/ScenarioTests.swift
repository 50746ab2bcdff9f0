import Foundation
import Synchronization
import TestSupport
import Testing
import Understudy

@Suite("Scenarios")
struct ScenarioTests {
    static let names = [
        "cancelled-sign-in", "clock-ahead", "clock-behind", "credential-already-linked", "device-flow-slow-down",
        "expired-client-secret", "github-suspended-application", "hidden-email-off", "mcp-assertion-refused",
        "mcp-client-credentials", "mcp-company-and-vendor", "mcp-dpop", "mcp-dpop-nonce", "mcp-endless-step-up",
        "mcp-expired-tokens", "mcp-foreign-resource", "mcp-iss-missing", "mcp-iss-normalized",
        "mcp-iss-not-advertised", "mcp-iss-unexpected", "mcp-iss-wrong", "mcp-metadata-at-the-root",
        "mcp-metadata-elsewhere", "mcp-metadata-of-another-issuer", "mcp-metadata-unannounced", "mcp-moved-server",
        "mcp-no-offline-access", "mcp-no-resource-metadata", "mcp-no-s256", "mcp-no-scopes", "mcp-preregistration",
        "mcp-refresh-revoked", "mcp-registration-rate-limited", "mcp-registration-refused", "mcp-rotated-keys",
        "mcp-scopes-from-metadata", "mcp-step-up-by-difference", "mcp-token-endpoint-auth", "mcp-workload",
        "mcp-wrong-audience",
        "nonce-mismatch", "openid-audience-list", "openid-clock-ahead", "openid-logout-fails",
        "openid-missing-email", "openid-nonce-mismatch", "openid-rotated-key", "provider-outage", "rehearsal",
        "rehearse-member-order", "rehearse-rotated-keys", "rehearse-slow", "rehearse-unavailable",
        "rehearse-unknown-claims", "rehearse-unknown-members", "replayed-code", "revoked-grant", "rotated-keys",
        "second-factor", "slow-provider",
    ]
    let fixture: FaultFixture

    init() throws { fixture = try FaultFixture(isAlone: true) }

    @discardableResult
    private func play(_ name: String, _ values: [String: String] = [:], world: String = "") throws -> Answer {
        let answer = try fixture.client.post("\(world)\(FaultFixture.api)/scenarios/\(name)", json: values)
        if answer.status != 200 { Issue.record("\(answer)") }
        return answer
    }

    @Test("every file is built in, has its texts and its page, and can be played, twice, too")
    func files() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: "\(Repository.root)/seed-data/scenarios")
        let built = files.filter { $0.hasSuffix(".json") }.map { String($0.dropLast(".json".count)) }
        #expect(built.sorted() == ScenarioTests.names)
        let listed =
            try fixture.client.get("\(FaultFixture.api)/scenarios").json["scenarios"] as? [[String: Any]] ?? []
        #expect(listed.compactMap { $0["name"] as? String } == ScenarioTests.names)
        for name in ScenarioTests.names {
            let path = "\(FaultFixture.api)/scenarios/\(name)"
            let scenario = try fixture.client.get(path)
            #expect(scenario.json["orders"] != nil)
            let page = try fixture.client.get(path, headers: ["Accept": "text/html"])
            #expect(page.header("Content-Type")?.hasPrefix("text/html") ?? false)
            for heading in ["What happens", "What a correct client does", "Start it"] {
                #expect(page.text.contains(heading))
            }
            #expect(try play(name, world: "/~\(name)")["advice"] == scenario["advice"])
            try play(name, world: "/~\(name)")
        }
        #expect(try Repository.read("seed-data/scenarios/README.md") == BuiltInScenarios.documentation)
    }

    @Test("nonce mismatch, at every provider that echoes one")
    func nonce() throws {
        try play("nonce-mismatch")
        for site in Site.natives {
            let answer = try site.call(fixture.client, "")
            let token = answer["identityToken"] ?? answer["idToken"] ?? answer["authenticationToken"] ?? ""
            #expect(AppleFixture.claims(token)["nonce"] as? String == "not-the-nonce")
        }
        for provider in ["apple", "google"] {
            let token = try Site.signIn(at: provider, fixture.client)["id_token"] ?? ""
            #expect(AppleFixture.claims(token)["nonce"] as? String == "not-")
        }
    }

    @Test(
        "starts at the same time don't add up: the scenario's orders are there once, and one end takes them all",
        .oneProcess("replicas don't wait for each other's starts"))
    func startsAtTheSameTime() throws {
        let path = "\(FaultFixture.api)/scenarios/provider-outage"
        let statuses = Mutex<[Int]>([])
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 16
        for _ in 0..<24 {
            queue.addOperation {
                let status = try? fixture.client.post(path, json: [:] as [String: String]).status
                statuses.withLock { $0.append(status ?? 0) }
            }
        }
        queue.waitUntilAllOperationsAreFinished()
        #expect(statuses.withLock { $0 } == Array(repeating: 200, count: 24))
        let faults = try fixture.client.get("\(FaultFixture.api)/faults").json["faults"] as? [Any]
        #expect(faults?.count == 1)
        #expect(try fixture.client.request("DELETE", path).json["withdrawn"] as? Bool == true)
        #expect((try fixture.client.get("\(FaultFixture.api)/faults").json["faults"] as? [Any])?.isEmpty == true)
    }

    @Test("replayed code", arguments: ["apple", "github", "google", "facebook"])
    func replay(provider: String) throws {
        try play("replayed-code")
        let answer = try Site.signIn(at: provider, fixture.client)
        #expect(answer["access_token"] == nil)
        #expect(Site.saysUsed(answer), "\(answer)")
    }

    @Test(
        "expired client secret",
        arguments: [
            ("apple", "invalid_client"), ("github", "incorrect_client_credentials"), ("google", "invalid_client"),
            ("facebook", "Error validating client secret."),
        ])
    func secret(provider: String, error: String) throws {
        try play("expired-client-secret")
        #expect(try Site.signIn(at: provider, fixture.client).text.contains(error))
    }

    @Test("revoked grant: sign-in works, what comes after doesn't")
    func revoked() throws {
        let apple = try Site.signIn(at: "apple", fixture.client)
        let github = try Site.signIn(at: "github", fixture.client)
        let facebook = try Site.signIn(at: "facebook", fixture.client)
        try play("revoked-grant")
        let form = [
            "client_id": AppleFixture.service, "client_secret": try AppleFixture.secret(),
            "grant_type": "refresh_token", "refresh_token": apple["refresh_token"] ?? "",
        ]
        #expect(try fixture.client.post("/appleid.apple.com/auth/token", form: form)["error"] == "invalid_grant")
        let headers = ["Authorization": "Bearer \(github["access_token"] ?? "")", "User-Agent": "tests"]
        #expect(try fixture.client.get("/api.github.com/user", headers: headers)["message"] == "Bad credentials")
        let token = facebook["access_token"] ?? ""
        let profile = try fixture.client.get("/graph.facebook.com/v22.0/me?access_token=\(token)")
        #expect((profile.json["error"] as? [String: Any])?["error_subcode"] as? Int == 458)
        #expect(try Site.signIn(at: "apple", fixture.client)["access_token"] != nil)
    }

    @Test("hidden e-mail switched off: the relay forwards no more")
    func hidden() throws {
        try play("hidden-email-off")
        let native = try fixture.client.post(
            Site.natives[0].path, json: ["client": AppleFixture.app, "account": "grace", "scopes": ["email"]])
        #expect(native.json["email"] == nil)
        let address = AppleFixture.claims(native["identityToken"] ?? "")["email"] as? String ?? ""
        let decision = try fixture.client.get(
            "\(FaultFixture.api)/apple/relay?from=noreply@demo-app.firebaseapp.com&to=\(address)")
        #expect(decision.json["forwarded"] as? Bool == false, "\(decision)")
        #expect(decision["reason"] == "switchedOff")
    }

    @Test("rotated keys: the next token has a new one, and the old ones are gone")
    func rotated() throws {
        let before = try fixture.client.get("/appleid.apple.com/auth/keys").text
        try play("rotated-keys")
        _ = try Site.signIn(at: "apple", fixture.client)
        let after = try fixture.client.get("/appleid.apple.com/auth/keys")
        #expect((after.json["keys"] as? [Any])?.count == 1)
        #expect(after.text != before)
    }

    @Test("outage and slowness, of the host that is named")
    func outage() throws {
        try play("provider-outage", ["host": "api.github.com"], world: "/~a")
        let answer = try fixture.client.get("/~a/api.github.com/user", headers: ["User-Agent": "tests"])
        #expect(answer.status == 503)
        #expect(answer.header("Retry-After") == "30")
        #expect(try fixture.client.get("/~a/appleid.apple.com/auth/keys").status == 200)
        try play("slow-provider", ["delay": "200ms"], world: "/~b")
        let begin = ContinuousClock.now
        _ = try fixture.client.get("/~b/appleid.apple.com/auth/keys")
        #expect(ContinuousClock.now - begin >= .milliseconds(200))
        let wrong = try fixture.client.post("\(FaultFixture.api)/scenarios/slow-provider", json: ["dealy": "1s"])
        #expect(wrong.status == 400)
        #expect(wrong.diagnosis.contains("\"delay\""))
        let refused = try fixture.client.post("\(FaultFixture.api)/scenarios/slow-provider", json: ["delay": "soon"])
        #expect(refused.status == 409)
        #expect(refused.diagnosis.contains("$.effect.delay"))
        #expect(
            try fixture.client.request("POST", "\(FaultFixture.api)/scenarios/slow-provder").diagnosis.contains(
                "\"slow-provider\""))
    }

    @Test("clock skew, ten minutes either way", arguments: [("clock-ahead", 600), ("clock-behind", -600)])
    func skew(name: String, seconds: Int) throws {
        try play(name)
        let before = Int(Date().timeIntervalSince1970)
        let token = try Site.natives[0].call(fixture.client, "")["identityToken"] ?? ""
        let after = Int(Date().timeIntervalSince1970)
        let iat = AppleFixture.claims(token)["iat"] as? Int ?? 0
        #expect((before - 1...after + 1).contains(iat - seconds))
    }

    @Test("cancelled sign-in, once at each provider", arguments: Site.authorizations)
    func cancelled(site: Site) throws {
        try play("cancelled-sign-in")
        #expect(try site.call(fixture.client, "").location.contains("error="))
        #expect(!Site.code(try site.call(fixture.client, "")).isEmpty)
    }

    @Test("second factor: the password isn't enough, and the code resolves it")
    func secondFactor() throws {
        try play("second-factor")
        let toolkit = "/identitytoolkit.googleapis.com"
        let first = try fixture.client.post(
            "\(toolkit)/v1/accounts:signInWithPassword?key=demo-api-key",
            json: ["email": "second-factor@example.com", "password": "second-factor-for-tests"])
        #expect(first["idToken"] == nil)
        let hint = try #require((first.json["mfaInfo"] as? [[String: Any]])?.first)
        let started = try fixture.client.post(
            "\(toolkit)/v2/accounts/mfaSignIn:start?key=demo-api-key",
            json: [
                "mfaPendingCredential": first["mfaPendingCredential"] ?? "",
                "mfaEnrollmentId": hint["mfaEnrollmentId"] ?? "", "phoneSignInInfo": [String: String](),
            ] as [String: Any])
        let session = (started.json["phoneResponseInfo"] as? [String: Any])?["sessionInfo"] as? String ?? ""
        let codes = try fixture.client.get("/emulator/v1/projects/demo-app/verificationCodes").json[
            "verificationCodes"]
        let code = (codes as? [[String: Any]])?.last?["code"] as? String ?? ""
        let finished = try fixture.client.post(
            "\(toolkit)/v2/accounts/mfaSignIn:finalize?key=demo-api-key",
            json: [
                "mfaPendingCredential": first["mfaPendingCredential"] ?? "",
                "phoneVerificationInfo": ["sessionInfo": session, "code": code],
            ] as [String: Any])
        #expect(finished["idToken"] != nil)
    }

    @Test("credential already linked: Google's and Apple's are another user's", arguments: ["google.com", "apple.com"])
    func linked(provider: String) throws {
        try play("credential-already-linked")
        let toolkit = "/identitytoolkit.googleapis.com"
        let user = try fixture.client.post(
            "\(toolkit)/v1/accounts:signUp?key=demo-api-key", json: ["returnSecureToken": true])
        let isApple = provider == "apple.com"
        let credential = try fixture.client.post(
            Site.natives[isApple ? 0 : 1].path,
            json: ["client": isApple ? AppleFixture.app : "example.apps.googleusercontent.com", "account": "ada"])
        let token = credential["identityToken"] ?? credential["idToken"]
        let body: [String: Any] = [
            "requestUri": "http://localhost", "returnSecureToken": true, "idToken": user["idToken"] ?? "",
            "postBody": FirebaseFixture.postBody(provider, idToken: token),
        ]
        let answer = try fixture.client.post("\(toolkit)/v1/accounts:signInWithIdp?key=demo-api-key", json: body)
        #expect(answer.text.contains("FEDERATED_USER_ID_ALREADY_LINKED"), "\(answer)")
    }

    @Test("GitHub suspended application")
    func suspended() throws {
        try play("github-suspended-application")
        #expect(try Site.authorizations[1].call(fixture.client, "").redirect["error"] == "application_suspended")
    }

    @Test("device flow slow-down, twice, and then as ever")
    func slowDown() throws {
        try play("device-flow-slow-down")
        let device = try fixture.client.post(
            "/github.com/login/device/code", form: ["client_id": GitHubFixture.asking],
            headers: ["Accept": "application/json"])
        let form = [
            "client_id": GitHubFixture.asking, "device_code": device["device_code"] ?? "",
            "grant_type": GitHubFixture.deviceGrant,
        ]
        let errors = try (0..<3).map { _ in
            try fixture.client.post(
                "/github.com/login/oauth/access_token", form: form, headers: ["Accept": "application/json"])["error"]
        }
        #expect(errors == ["slow_down", "slow_down", "authorization_pending"])
    }

    @Test("a daemon that starts with a scenario has it in every world, also after a reset")
    func start() throws {
        var options = RunningServer.Options()
        options.scenarios = ["provider-outage", "clock-ahead"]
        let fixture = try FaultFixture(options: options)
        for world in ["", "/~one", "/~two"] {
            #expect(try fixture.client.get("\(world)/appleid.apple.com/auth/keys").status == 503)
            _ = try fixture.client.request("POST", "\(world)\(FaultFixture.api)/reset")
            #expect(try fixture.client.get("\(world)/appleid.apple.com/auth/keys").status == 503)
            let faults = try fixture.client.get("\(world)\(FaultFixture.api)/faults").json["faults"] as? [Any]
            #expect(faults?.count == 1)
        }
        #expect(
            try fixture.client.get("/_understudy/setup", headers: ["Accept": "text/html"]).text.contains(
                "The provider is down"))
        options.scenarios = ["provider-outge"]
        #expect(throws: StartError.self) { try FaultFixture(options: options) }
    }

    @Test("a scenario from a file; one that can't be read says where it is wrong")
    func own() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "scenario-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "mine.json").path()
        let text =
            #"{"title":"Mine","happens":"It does.","advice":"Bear it.","orders":[{"call":"POST clock","body":{"freeze":true}}]}"#
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        var options = RunningServer.Options()
        options.scenarios = [file]
        let fixture = try FaultFixture(options: options)
        #expect(try fixture.client.get("\(FaultFixture.api)/clock").json["frozen"] as? Bool == true)
        #expect(try fixture.client.get("\(FaultFixture.api)/scenarios/mine")["title"] == "Mine")
        // For this call Firebase asks a provider, at the start of every world.
        let asking = text.replacingOccurrences(
            of: #"{"call":"POST clock","body":{"freeze":true}}"#,
            with: """
                {"call":"POST //identitytoolkit.googleapis.com/v1/accounts:signInWithIdp?key=demo-api-key",
                 "accept":["INVALID_IDP_RESPONSE"],
                 "body":{"requestUri":"http://localhost","postBody":"providerId=github.com&access_token=none"}}
                """)
        try asking.write(toFile: file, atomically: true, encoding: .utf8)
        let asked = try FaultFixture(options: options)
        let recorded = try asked.client.get("\(FaultFixture.api)/requests?host=api.github.com")
        #expect((recorded.json["requests"] as? [Any])?.count == 1, "\(recorded)")
        // A scenario that plays itself would never end.
        for call in ["PUSH clock", "POST scenarios/mine"] {
            try text.replacingOccurrences(of: "POST clock", with: call).write(
                toFile: file, atomically: true, encoding: .utf8)
            let error = #expect(throws: StartError.self) { try FaultFixture(options: options) }
            #expect(error?.description.contains("mine.json: $.orders[0].call: found a string") ?? false)
        }
    }
}
