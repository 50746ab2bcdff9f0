import Foundation
import TestSupport
import Testing

extension ScenarioWalk {
    static let all: [ScenarioWalk] = faults + rehearsals + identities + accounts + clocks + openID

    private static let faults: [ScenarioWalk] = [
        ScenarioWalk(name: "cancelled-sign-in") { (client, _) throws in
            for site in Site.authorizations {
                #expect(try site.call(client, "").location.contains("error="), "\(site)")
                // The approval that was ordered for it is still queued: that of the correct client follows it.
                #expect(!Site.code(try client.get(site.target())).isEmpty, "\(site)")
            }
        },
        ScenarioWalk(name: "device-flow-slow-down") { (client, _) throws in
            #expect(try (0..<2).map { _ in try device(client)["error"] } == ["slow_down", "slow_down"])
        } correct: { (client) throws in
            #expect(try device(client)["access_token"] != nil)
        },
        ScenarioWalk(name: "expired-client-secret", lasts: true) { (client, _) throws in
            for (provider, error) in [
                ("apple", "invalid_client"), ("github", "incorrect_client_credentials"), ("google", "invalid_client"),
                ("facebook", "Error validating client secret."),
            ] { #expect(try Site.signIn(at: provider, client).text.contains(error)) }
        },
        ScenarioWalk(name: "github-suspended-application", lasts: true) { (client, _) throws in
            #expect(try Site.authorizations[1].call(client, "").redirect["error"] == "application_suspended")
        },
        ScenarioWalk(name: "provider-outage", values: ["host": "api.github.com"], lasts: true) { (client, _) throws in
            #expect(try client.get("/api.github.com/user", headers: ["User-Agent": "tests"]).status == 503)
        } correct: { (client) throws in
            let site = Site.apis.first { $0.host == "api.github.com" }
            let answer = try site?.call(client, "")
            #expect(answer?["login"] == "ada")
        },
        ScenarioWalk(name: "replayed-code", lasts: true) { (client, _) throws in
            for provider in providers.dropLast() {
                let answer = try Site.signIn(at: provider, client)
                #expect(answer["access_token"] == nil)
                #expect(Site.saysUsed(answer), "\(answer)")
            }
        },
        ScenarioWalk(name: "slow-provider", values: ["delay": "150ms"]) { (client, _) throws in
            let begin = ContinuousClock.now
            _ = try client.get("/appleid.apple.com/auth/keys")
            #expect(ContinuousClock.now - begin >= .milliseconds(150))
        },
    ]

    // MARK: - Rehearsals

    private static let document = "/appleid.apple.com/.well-known/openid-configuration"

    /// Asks until an answer is as wanted: chance decides at each.
    private static func meets(_ client: TestClient, _ isWanted: (Answer, Duration) -> Bool) throws {
        for _ in 0..<400 {
            let begin = ContinuousClock.now
            let answer = try client.get(document)
            if isWanted(answer, ContinuousClock.now - begin) { return }
        }
        Issue.record("no answer was like this")
    }

    private static func isShuffled(_ answer: Answer) -> Bool {
        answer.json["issuer"] != nil && !answer.text.hasPrefix("{\"issuer\"")
    }

    private static let rehearsals: [ScenarioWalk] = [
        ScenarioWalk(name: "rehearse-member-order", lasts: true) { (client, _) throws in
            try meets(client) { answer, _ in isShuffled(answer) }
            try meets(client) { answer, _ in answer.text.hasPrefix("{\"issuer\"") }
            try everywhere(client)
        },
        ScenarioWalk(name: "rehearse-unknown-members", lasts: true) { (client, _) throws in
            try meets(client) { answer, _ in answer.json["rehearsal"] != nil }
            try meets(client) { answer, _ in answer.json["rehearsal"] == nil }
            try everywhere(client)
            // Clients read each member of these as a certificate, and Firebase's emulator has calls of its own.
            let fixed = [
                "/www.googleapis.com/oauth2/v1/certs",
                "/www.googleapis.com/robot/v1/metadata/x509/securetoken@system.gserviceaccount.com",
                "/emulator/v1/projects/demo-app/oobCodes",
            ]
            for path in fixed {
                let answers = try (0..<20).map { _ in try client.get(path, headers: ["Authorization": "Bearer owner"]) }
                #expect(answers.allSatisfy { $0.status == 200 && $0.json["rehearsal"] == nil }, "\(path)")
            }
        },
        ScenarioWalk(name: "rehearse-unknown-claims", lasts: true) { (client, _) throws in
            let lengths = try (0..<20).map { _ in (claims(try native(client))["rehearsal"] as? String)?.utf8.count ?? 0
            }
            #expect(lengths.contains { $0 > 200 } && lengths.contains(0))
            try everywhere(client)
        },
        ScenarioWalk(name: "rehearse-rotated-keys") { (client, _) throws in
            let kids = Set(try (0..<60).map { _ in kid(try native(client)["identityToken"] ?? "") })
            #expect((2...3).contains(kids.count) && !kids.contains(""))
            #expect(try keys("/appleid.apple.com/auth/keys", client).isSuperset(of: kids))
        },
        ScenarioWalk(name: "rehearse-slow", lasts: true) { (client, _) throws in
            try meets(client) { answer, length in answer.status == 200 && length >= .milliseconds(1500) }
        },
        ScenarioWalk(name: "rehearse-unavailable", lasts: true) { (client, _) throws in
            try meets(client) { answer, _ in answer.status == 503 && answer.header("Retry-After") == "1" }
            try meets(client) { answer, _ in answer.status == 200 }
            let pages = try (0..<40).map { _ in try client.get("/github.com/login").status }
            #expect(Set(pages) == [200])
        },
        ScenarioWalk(name: "rehearsal", lasts: true) { (client, _) throws in
            try meets(client) { answer, _ in answer.json["rehearsal"] != nil }
            try meets(client) { answer, _ in isShuffled(answer) }
        },
    ]

    private static func device(_ client: TestClient) throws -> Answer {
        let accept = ["Accept": "application/json"]
        let device = try client.post(
            "/github.com/login/device/code", form: ["client_id": GitHubFixture.automatic], headers: accept)
        return try client.post(
            "/github.com/login/oauth/access_token",
            form: [
                "client_id": GitHubFixture.automatic, "device_code": device["device_code"] ?? "",
                "grant_type": GitHubFixture.deviceGrant,
            ], headers: accept)
    }

    // MARK: - Tokens

    private static let identities: [ScenarioWalk] = [
        ScenarioWalk(name: "nonce-mismatch", lasts: true) { (client, _) throws in
            for _ in 0..<2 {
                let refused = try firebase(client, rawNonce: UUID().uuidString)
                #expect(refused.message.hasPrefix("MISSING_OR_INVALID_NONCE : The nonce in ID Token"), "\(refused)")
            }
            for site in Site.natives {
                let answer = try site.call(client, "")
                let token = answer["identityToken"] ?? answer["idToken"] ?? answer["authenticationToken"] ?? ""
                #expect(AppleFixture.claims(token)["nonce"] as? String == "not-the-nonce", "\(site)")
            }
        } correct: { (client) throws in
            #expect(try firebase(client, rawNonce: UUID().uuidString)["idToken"] != nil)
        },
        ScenarioWalk(
            name: "rotated-keys",
            before: { ["keys": try keys("/appleid.apple.com/auth/keys", $0).joined(separator: " ")] }
        ) { (client, values) throws in
            // There is one change for each provider, whatever the next sign-in is.
            let kid = kid(try native(client)["identityToken"] ?? "")
            #expect(!(values["keys"] ?? "").contains(kid))
            #expect(try keys("/appleid.apple.com/auth/keys", client) == [kid])
            let google = try Site.signIn(at: "google", client)["id_token"] ?? ""
            #expect(try keys("/www.googleapis.com/oauth2/v3/certs", client) == [ScenarioWalk.kid(google)])
        } correct: { (client) throws in
            let known = try keys("/appleid.apple.com/auth/keys", client)
            for _ in 0..<2 {
                let token = try Site.signIn(at: "apple", client)["id_token"] ?? ""
                #expect(known.contains(kid(token)))
            }
        },
        ScenarioWalk(name: "revoked-grant", before: { try signInEverywhere($0) }) { (client, values) throws in
            try meetsRevocation(client, values)
        } correct: { (client) throws in
            let first = try native(client)
            #expect(first["email"] != nil && first.json["fullName"] != nil, "a first sign-in has both")
            #expect(try credentialState(first["user"], client) == "authorized")
            try everywhere(client)
        },
    ]

    private static func signInEverywhere(_ client: TestClient) throws -> [String: String] {
        var values: [String: String] = [:]
        for provider in providers {
            let parameters = provider == "google" ? ["access_type": "offline", "prompt": "consent"] : [:]
            let answer = try Site.signIn(at: provider, client, more: parameters)
            values["\(provider) access"] = answer["access_token"]
            values["\(provider) refresh"] = answer["refresh_token"]
        }
        values["user"] = try native(client)["user"]
        #expect(try credentialState(values["user"], client) == "authorized")
        return values
    }

    private static func credentialState(_ user: String?, _ client: TestClient) throws -> String? {
        let query = TestClient.encode(["client": AppleFixture.app, "user": user ?? ""])
        return try client.get("\(control)/apple/credential-state?\(query)")["state"]
    }

    private static func meetsRevocation(_ client: TestClient, _ values: [String: String]) throws {
        #expect(try credentialState(values["user"], client) == "revoked")
        var form = [
            "client_id": AppleFixture.service, "client_secret": try AppleFixture.secret(),
            "grant_type": "refresh_token", "refresh_token": values["apple refresh"] ?? "none",
        ]
        #expect(try client.post("/appleid.apple.com/auth/token", form: form)["error"] == "invalid_grant")
        form["client_id"] = "example.apps.googleusercontent.com"
        form["client_secret"] = "google-secret-for-tests"
        form["refresh_token"] = values["google refresh"] ?? "none"
        let google = try client.post("/oauth2.googleapis.com/token", form: form)
        #expect(google["error"] == "invalid_grant")
        let bearer = { (provider: String) in
            ["Authorization": "Bearer \(values["\(provider) access"] ?? "")", "User-Agent": "tests"]
        }
        #expect(try client.get("/openidconnect.googleapis.com/v1/userinfo", headers: bearer("google")).status == 401)
        #expect(try client.get("/api.github.com/user", headers: bearer("github"))["message"] == "Bad credentials")
        #expect(try client.get("/login.corp.example/userinfo", headers: bearer("openid")).status == 401)
        let facebook = try client.get("/graph.facebook.com/me?access_token=\(values["facebook access"] ?? "")")
        let error = facebook.json["error"] as? [String: Any]
        #expect(error?["code"] as? Int == 190 && error?["error_subcode"] as? Int == 458, "\(facebook)")
    }

    // MARK: - Clocks

    private static let clocks: [ScenarioWalk] = [clock("clock-ahead", by: 600), clock("clock-behind", by: -600)]

    private static func clock(_ name: String, by seconds: Double) -> ScenarioWalk {
        ScenarioWalk(name: name) { (client, _) throws in
            #expect(try isAhead(client, by: seconds))
            let before = Date().timeIntervalSince1970
            let issued = claims(try native(client))["iat"] as? Double ?? 0
            let after = Date().timeIntervalSince1970
            #expect((before - 1...after + 1).contains(issued - seconds))
        } correct: { (client) throws in
            for provider in providers.dropFirst() {
                #expect(try Site.signIn(at: provider, client)["access_token"] != nil, "\(provider)")
            }
            // Tokens that the client signs itself begin a quarter of an hour ago.
            let secret = try AppleFixture.secret(now: Int64(Date().timeIntervalSince1970) - 900)
            let code = Site.code(try Site.authorizations[0].call(client, ""))
            let answer = try client.post(
                "/appleid.apple.com/auth/token",
                form: [
                    "client_id": AppleFixture.service, "client_secret": secret, "grant_type": "authorization_code",
                    "code": code, "redirect_uri": AppleFixture.returnURL,
                ])
            #expect(answer["access_token"] != nil, "\(answer)")
        }
    }
}
