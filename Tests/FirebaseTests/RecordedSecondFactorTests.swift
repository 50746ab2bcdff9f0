import Foundation
import TestSupport
import Testing

/// Production's recorded answers: auth-mfa-production.json; see RecordedCalls.swift.
@Suite("Firebase: second factors as production was recorded")
struct RecordedSecondFactorTests {
    private let fixture: FirebaseFixture
    private static let invalid = "Request contains an invalid argument."

    init() throws {
        fixture = try .recorded()
        try fixture.freeze()
    }

    private func make(_ name: String, _ more: [String: Any] = [:]) throws {
        let body: [String: Any] = [
            "localId": name, "email": "\(name)@example.com", "password": "password123", "emailVerified": true,
        ]
        #expect(try fixture.accounts("", body.merging(more) { $1 }).status == 200)
    }

    private func signIn(_ name: String) throws -> Answer {
        try fixture.app(
            "v1/accounts:signInWithPassword",
            ["email": "\(name)@example.com", "password": "password123", "returnSecureToken": true])
    }

    private func made(_ name: String) throws -> String {
        try make(name)
        return try #require(signIn(name)["idToken"])
    }

    private func start(_ idToken: String, _ more: [String: Any] = ["totpEnrollmentInfo": [:]]) throws -> Answer {
        try fixture.app("v2/accounts/mfaEnrollment:start", ["idToken": idToken].merging(more) { $1 })
    }

    private func phone(_ place: Int) -> [String: Any] {
        ["phoneEnrollmentInfo": ["phoneNumber": "+1650555010\(place)"]]
    }

    private func session(_ answer: Answer, _ kind: String = "totpSessionInfo") -> [String: Any] {
        answer.json[kind] as? [String: Any] ?? [:]
    }

    private func finalize(_ idToken: String, _ more: [String: Any]) throws -> Answer {
        try fixture.app("v2/accounts/mfaEnrollment:finalize", ["idToken": idToken].merging(more) { $1 })
    }

    private func finalizeApp(_ idToken: String, _ start: Answer, after span: Int = 0, named: String? = "App") throws
        -> Answer
    {
        let info = session(start)
        var body: [String: Any] = [
            "totpVerificationInfo": [
                "sessionInfo": info["sessionInfo"] ?? "",
                "verificationCode": try fixture.totp(info["sharedSecretKey"] as? String ?? "", after: span),
            ]
        ]
        body["displayName"] = named
        return try finalize(idToken, body)
    }

    private func finalizePhone(_ idToken: String, _ start: Answer) throws -> Answer {
        let code = ["sessionInfo": session(start, "phoneSessionInfo")["sessionInfo"] ?? "", "code": "123456"]
        return try finalize(idToken, ["phoneVerificationInfo": code, "displayName": "Phone"])
    }

    /// Makes a user with an authenticator app, and returns the ID token and the secret.
    private func enrolled(_ name: String) throws -> (idToken: String, secret: String) {
        let idToken = try made(name)
        let begun = try start(idToken)
        let answer = try finalizeApp(idToken, begun)
        // totp/enroll#finalize
        #expect(answer.json["totpAuthInfo"] as? [String: String] == [:], "\(answer)")
        return (try #require(answer["idToken"]), session(begun)["sharedSecretKey"] as? String ?? "")
    }

    private func factor(_ answer: Answer, _ place: Int = 0) -> [String: Any] {
        let factors = answer.json["mfaInfo"] as? [[String: Any]] ?? []
        return factors.indices.contains(place) ? factors[place] : [:]
    }

    private func resolve(_ endpoint: String, _ first: Answer, _ more: [String: Any]) throws -> Answer {
        let body: [String: Any] = [
            "mfaPendingCredential": first["mfaPendingCredential"] ?? "",
            "mfaEnrollmentId": factor(first)["mfaEnrollmentId"] ?? "",
        ]
        return try fixture.app("v2/accounts/mfaSignIn:\(endpoint)", body.merging(more) { $1 })
    }

    private func factors(of name: String) throws -> [[String: Any]] {
        let users = try fixture.accounts("lookup", ["localId": [name]]).json["users"] as? [[String: Any]]
        return users?.first?["mfaInfo"] as? [[String: Any]] ?? []
    }

    private func firebase(_ answer: Answer) -> [String: Any] { answer.claims()["firebase"] as? [String: Any] ?? [:] }

    // MARK: - Administrators

    @Test("administrators give numbers without IDs, at most five, and no authenticator apps")
    func administrators() throws {
        try make("m")
        func set(_ factors: [[String: Any]]) throws -> Answer {
            try fixture.accounts("update", ["localId": "m", "mfa": ["enrollments": factors]])
        }
        func number(_ place: Int) -> [String: Any] {
            ["phoneInfo": "+1650555010\(place)", "displayName": "Phone \(place)", "enrolledAt": "2020-01-02T03:04:05Z"]
        }
        // admin-factors#admin-set-factor-m
        #expect(try set([number(3)]).status == 200)
        var known = try #require(factors(of: "m").first)
        #expect(!((known.removeValue(forKey: "mfaEnrollmentId") as? String) ?? "").isEmpty)
        // admin-factors#admin-lookup-imported: there is neither unobfuscatedPhoneInfo nor a fraction of a second
        #expect(
            NSDictionary(dictionary: known)
                == [
                    "phoneInfo": "+16505550103", "displayName": "Phone 3", "enrolledAt": "2020-01-02T03:04:05Z",
                ])
        // admin-factors#admin-set-totp-factor-ia, #admin-set-invalid-phone-ia; interactions#admin-set-six-factors
        for (factors, message) in [
            (
                [["totpInfo": [:], "displayName": "App"]],
                "UNSUPPORTED_SECOND_FACTOR : attempting to add a new TOTP enrollment"
            ),
            ([["phoneInfo": "not-a-phone"]], "INVALID_PHONE_NUMBER : Invalid format."),
            ((1...6).map { number($0) }, "SECOND_FACTOR_LIMIT_EXCEEDED"),
        ] as [([[String: Any]], String)] {
            let refused = try set(factors)
            #expect(refused.message == message, "\(refused)")
            #expect(!refused.diagnosis.isEmpty)
        }
        #expect(try set((1...5).map { number($0) }).status == 200)
        // admin-factors#batch-create
        let imported = try fixture.accounts(
            "batchCreate",
            [
                "users": [
                    [
                        "localId": "it", "email": "it@example.com", "emailVerified": true,
                        "mfaInfo": [["totpInfo": [:]]],
                    ] as [String: Any]
                ]
            ])
        let fault = (imported.json["error"] as? [[String: Any]])?.first
        #expect(fault?["message"] as? String == "Importing TOTP MFA is not supported.")
    }

    // MARK: - Enrolment

    @Test("an authenticator app is enrolled once, with a name, and is the only one")
    func apps() throws {
        let idToken = try made("a")
        // totp/enroll#start-without-info, interactions#start-both-kinds, matrix/errors#mfa-start-without-token
        #expect(try start(idToken, [:]).message == RecordedSecondFactorTests.invalid)
        let both = try start(idToken, phone(1).merging(["totpEnrollmentInfo": [:]]) { $1 })
        #expect(
            both.message.hasPrefix("Invalid value (oneof), oneof field 'enrollment_info' is already set. Cannot set"))
        #expect(both.errorStatus == "INVALID_ARGUMENT")
        #expect(try start("", phone(1)).message == "INVALID_ID_TOKEN")
        let begun = try start(idToken)
        // lifetime: finalizeDeadline
        let clock = try fixture.client.get("\(FirebaseFixture.control)/clock").json
        let now = try #require(clock["milliseconds"] as? Int) / 1_000
        let format = ISO8601DateFormatter()
        let ends = session(begun)["finalizeEnrollmentTime"] as? String ?? ""
        #expect(format.date(from: ends).map { Int($0.timeIntervalSince1970) - now } == 900, "\(ends)")
        // totp/enroll#finalize-missing-code, #finalize-missing-session, #finalize-unknown-session, #finalize-wrong-code
        let name = "MISSING_DISPLAY_NAME : display name cannot be empty"
        let ownSession = session(begun)["sessionInfo"] ?? ""
        #expect(try finalize(idToken, ["totpVerificationInfo": ["sessionInfo": ownSession]]).message == name)
        #expect(
            try finalize(idToken, ["totpVerificationInfo": ["verificationCode": "000000"]]).message
                == "INVALID_SESSION_INFO")
        #expect(try finalizeApp(idToken, begun, named: nil).message == name)
        #expect(try finalizeApp(idToken, begun, after: 180).message == "INVALID_CODE")
        let other = try start(idToken)
        let answer = try finalizeApp(idToken, begun)
        // totp/enroll#finalize-again, #start-second-totp
        let again = try finalizeApp(idToken, begun, after: 30)
        #expect(again.message == "TOO_MANY_ENROLLMENT_ATTEMPTS : restart enrollment")
        let limit = "SECOND_FACTOR_LIMIT_EXCEEDED : Too many TOTP based second factors enrolled for this account."
        #expect(try start(answer["idToken"] ?? "").message == limit)
        #expect(try finalizeApp(idToken, other, after: 60).message == limit)
        #expect(try factors(of: "a").count == 1)
    }

    @Test("five numbers leave room for an authenticator app, and not for a sixth number")
    func numbers() throws {
        try make("l")
        _ = try fixture.accounts(
            "update",
            [
                "localId": "l", "mfa": ["enrollments": (1...5).map { ["phoneInfo": "+1650555010\($0)"] }],
            ])
        let first = try signIn("l")
        let begun = try resolve("start", first, ["phoneSignInInfo": [:]])
        let proof = ["sessionInfo": session(begun, "phoneResponseInfo")["sessionInfo"] ?? "", "code": "123456"]
        let idToken = try resolve("finalize", first, ["phoneVerificationInfo": proof])["idToken"] ?? ""
        // interactions#totp-start-at-limit, #phone-start-at-limit
        #expect(try start(idToken).status == 200)
        #expect(
            try start(idToken, phone(6)).message
                == "SECOND_FACTOR_LIMIT_EXCEEDED : Too many second factors enrolled for this account.")
    }

    @Test("with second factors off, the token is looked at first")
    func off() throws {
        let idToken = try made("a")
        let off = try fixture.owner(
            "PATCH", "v2/projects/demo-app/config?updateMask=mfa", ["mfa": ["state": "DISABLED"]])
        #expect(off.status == 200)
        // disabled#totp-start, #phone-start; matrix/errors#mfa-start-without-token
        #expect(try start("").message == "INVALID_ID_TOKEN")
        #expect(try start(idToken).message == "OPERATION_NOT_ALLOWED : TOTP based MFA not enabled.")
        #expect(try start(idToken, phone(1)).message == "OPERATION_NOT_ALLOWED : SMS based MFA not enabled.")
    }

    @Test("an enrolment of an app lasts fifteen minutes, that of a number half an hour at least")
    func enrolmentLifetimes() throws {
        let (a, b, c) = (try made("a"), try made("b"), try made("c"))
        let (begun, late, text) = (try start(a), try start(b), try start(c, phone(1)))
        try fixture.advance("870s")
        // lifetime#aged-session-t870, #aged-session-t930, #aged-session-s1800
        #expect(try finalizeApp(signIn("a")["idToken"] ?? "", begun).status == 200)
        try fixture.advance("60s")
        #expect(try finalizeApp(signIn("b")["idToken"] ?? "", late).message == "SESSION_EXPIRED")
        try fixture.advance("870s")
        #expect(try finalizePhone(signIn("c")["idToken"] ?? "", text).status == 200)
    }

    // MARK: - Signing in

    @Test("what is missing, unknown or another's at a sign-in with an authenticator app")
    func refusals() throws {
        let (_, secret) = try enrolled("c")
        try make("other", ["mfaInfo": [["phoneInfo": "+16505550101"]]])
        let first = try signIn("c")
        let code: [String: Any] = ["totpVerificationInfo": ["verificationCode": try fixture.totp(secret, after: 120)]]
        let invalid = RecordedSecondFactorTests.invalid
        // totp/sign-in and interactions#finalize-y-other-account-factor
        for (endpoint, body, message) in [
            ("start", [:], invalid), ("start", ["phoneSignInInfo": [:]], "INVALID_PHONE_NUMBER : Invalid format."),
            ("start", ["phoneSignInInfo": [:], "mfaEnrollmentId": "x"], "MFA_ENROLLMENT_NOT_FOUND"),
            ("finalize", code.merging(["mfaPendingCredential": ""]) { $1 }, invalid),
            ("finalize", code.merging(["mfaPendingCredential": "x"]) { $1 }, "INVALID_PENDING_TOKEN"),
            ("finalize", ["totpVerificationInfo": [:]], invalid),
            ("finalize", code.merging(["mfaEnrollmentId": ""]) { $1 }, invalid),
            ("finalize", code.merging(["mfaEnrollmentId": "x"]) { $1 }, "INVALID_MFA_ENROLLMENT_ID"),
            (
                "finalize",
                code.merging(["mfaEnrollmentId": factor(try signIn("other"))["mfaEnrollmentId"] ?? ""]) { $1 },
                "INVALID_MFA_ENROLLMENT_ID"
            ),
            ("finalize", ["phoneVerificationInfo": ["sessionInfo": "x", "code": "1"]], "INVALID_SESSION_INFO"),
        ] as [(String, [String: Any], String)] {
            let answer = try resolve(endpoint, first, body)
            #expect(answer.message == message, "\(endpoint) \(body): \(answer)")
            #expect(answer.errorStatus == "INVALID_ARGUMENT")
            #expect(!answer.diagnosis.isEmpty)
        }
        // totp/sign-in#finalize-plus-4, #pending-1-again: the credential works again, with a later code
        #expect(try resolve("finalize", first, code).status == 200)
        #expect(try resolve("finalize", first, code).message == "INVALID_CODE")
        let later = ["totpVerificationInfo": ["verificationCode": try fixture.totp(secret, after: 150)]]
        #expect(try resolve("finalize", first, later).status == 200)
        // interactions#finalize-x-after-factors-cleared, #finalize-y-deleted
        _ = try fixture.accounts("update", ["localId": "c", "mfa": [:]])
        #expect(try resolve("finalize", first, code).message == "INVALID_MFA_ENROLLMENT_ID")
        _ = try fixture.accounts("delete", ["localId": "c"])
        #expect(try resolve("finalize", first, code).message == "USER_NOT_FOUND")
    }

    @Test("a first factor counts for five minutes with an app, and for ten with a number")
    func pendingLifetimes() throws {
        let (_, secret) = try enrolled("p")
        try make("m", ["mfaInfo": [["phoneInfo": "+16505550101"]]])
        let (app, text) = (try signIn("p"), try signIn("m"))
        func code() throws -> [String: Any] {
            ["totpVerificationInfo": ["verificationCode": try fixture.totp(secret)]]
        }
        try fixture.advance("290s")
        // lifetime-short#aged-pending-q290, lifetime#aged-pending-p300, lifetime-sms#sms-start-aged-m450, -m600
        #expect(try resolve("finalize", app, code()).status == 200)
        try fixture.advance("10s")
        #expect(
            try resolve("finalize", app, code()).message
                == "TOTP_CHALLENGE_TIMEOUT : TOTP challenge timeout, provide first factor again.")
        try fixture.advance("150s")
        #expect(try resolve("start", text, ["phoneSignInInfo": [:]]).status == 200)
        try fixture.advance("150s")
        #expect(
            try resolve("start", text, ["phoneSignInInfo": [:]]).message
                == "INVALID_MFA_PENDING_CREDENTIAL : MFA pending credential is expired.")
    }

    @Test("whoever withdraws another factor than the one shown has still shown that one")
    func withdrawal() throws {
        let first = try made("s")
        let one = try finalizePhone(first, start(first, phone(1)))
        let two = try finalizePhone(one["idToken"] ?? "", start(one["idToken"] ?? "", phone(2)))
        let ids = try factors(of: "s").compactMap { $0["mfaEnrollmentId"] as? String }
        func withdraw(_ id: String?, _ idToken: String?) throws -> Answer {
            var body = ["idToken": idToken ?? ""]
            body["mfaEnrollmentId"] = id
            return try fixture.app("v2/accounts/mfaEnrollment:withdraw", body)
        }
        // totp/withdraw#withdraw-missing-id, sms#withdraw-first-phone, totp/withdraw#withdraw
        #expect(try withdraw(nil, two["idToken"]).message == "MFA_ENROLLMENT_NOT_FOUND")
        try fixture.advance("2s")
        let kept = try withdraw(ids.first, two["idToken"])
        #expect(firebase(kept)["second_factor_identifier"] as? String == ids.last, "\(kept)")
        #expect(firebase(kept)["sign_in_second_factor"] as? String == "phone")
        let gone = try withdraw(ids.last, kept["idToken"])
        #expect(gone.status == 200 && firebase(gone)["sign_in_second_factor"] == nil)
    }

    // MARK: - The project's configuration

    @Test(
        "what a project's mfa may be, and what is kept of it; below v2 and admin/v2",
        arguments: [
            (
                #"{"state":"ENABLED","providerConfigs":[{"state":"ENABLED","totpProviderConfig":{"adjacentIntervals":10}}]}"#,
                nil
            ),
            (
                #"{"state":"ENABLED","providerConfigs":[{"state":"ENABLED","totpProviderConfig":{"adjacentIntervals":0}}]}"#,
                #"{"state":"ENABLED","providerConfigs":[{"state":"ENABLED","totpProviderConfig":{}}]}"#
            ),
            (#"{"state":"ENABLED","providerConfigs":[{"state":"ENABLED"}]}"#, #"{"state":"ENABLED"}"#),
            (
                #"{"state":"ENABLED","providerConfigs":[{"state":"DISABLED","totpProviderConfig":{"adjacentIntervals":5}}]}"#,
                nil
            ),
            (#"{"state":"DISABLED","enabledProviders":["PHONE_SMS"]}"#, nil), (#"{"state":"MANDATORY"}"#, nil),
        ])
    func settings(given: String, kept: String?) throws {
        func object(_ text: String) throws -> NSDictionary {
            NSDictionary(dictionary: try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] ?? [:])
        }
        // auth-mfa, program config; auth-config-sdk, config/read#admin-get and #admin-get-v2-path
        for version in ["v2", "admin/v2"] {
            let path = "\(version)/projects/demo-app/config"
            let answer = try fixture.owner("PATCH", "\(path)?updateMask=mfa", ["mfa": try object(given)])
            for answer in [answer, try fixture.owner("GET", path)] {
                let mfa = NSDictionary(dictionary: answer.json["mfa"] as? [String: Any] ?? [:])
                #expect(mfa == (try object(kept ?? given)), "\(answer)")
                #expect(answer["name"] == "projects/\(FirebaseFixture.number)/config")
            }
        }
    }

    @Test("what a project's mfa can't be, which changes nothing")
    func refusedSettings() throws {
        let range =
            "INVALID_ADJACENT_INTERVAL_RANGE : Allowed number of adjacent intervals must be between 0 and 10, inclusive"
        let type = "type.googleapis.com/google.cloud.identitytoolkit.admin.v2.MultiFactorAuthConfig"
        func app(_ intervals: Int) -> [String: Any] {
            ["providerConfigs": [["state": "ENABLED", "totpProviderConfig": ["adjacentIntervals": intervals]]]]
        }
        let before = try fixture.owner("GET", "v2/projects/demo-app/config").json["mfa"] as? [String: Any] ?? [:]
        // config#write-adjacent-eleven, #write-adjacent-negative, #write-unknown-provider, #write-unknown-state, #read-after-writes
        for (mfa, message) in [
            (app(11), range), (app(-1), range),
            (
                ["enabledProviders": ["NOT_A_PROVIDER"]],
                "Invalid value at 'config.mfa.enabled_providers[0]' (\(type).Provider), \"NOT_A_PROVIDER\""
            ),
            (["state": "NOT_A_STATE"], "Invalid value at 'config.mfa.state' (\(type).State), \"NOT_A_STATE\""),
        ] as [([String: Any], String)] {
            let answer = try fixture.owner("PATCH", "v2/projects/demo-app/config?updateMask=mfa", ["mfa": mfa])
            #expect(answer.status == 400 && answer.message == message, "\(answer)")
            #expect(answer.errorStatus == "INVALID_ARGUMENT")
        }
        let after = try fixture.owner("GET", "v2/projects/demo-app/config").json["mfa"] as? [String: Any] ?? [:]
        #expect(NSDictionary(dictionary: after) == NSDictionary(dictionary: before))
    }

    @Test("a code so many steps away is taken as adjacentIntervals says")
    func intervals() throws {
        let (_, secret) = try enrolled("i")
        for (intervals, span, isTaken) in [(0, 30, false), (10, 300, true), (10, 330, false)] {
            let app = ["state": "ENABLED", "totpProviderConfig": ["adjacentIntervals": intervals]] as [String: Any]
            _ = try fixture.owner(
                "PATCH", "v2/projects/demo-app/config?updateMask=mfa.providerConfigs",
                ["mfa": ["providerConfigs": [app]]])
            let code = ["totpVerificationInfo": ["verificationCode": try fixture.totp(secret, after: span)]]
            let answer = try resolve("finalize", signIn("i"), code)
            #expect((answer["idToken"] != nil) == isTaken, "\(intervals) \(span): \(answer)")
        }
    }

    @Test("a project's number names it, too, and its resources have the number in their names")
    func names() throws {
        let config: [String: Any] = ["clientId": "c", "issuer": "https://issuer.example", "enabled": false]
        let number = FirebaseFixture.number
        // auth-federation, provider-config/oidc and third-party-refusals#create-disabled
        let made = try fixture.owner(
            "POST", "admin/v2/projects/demo-app/oauthIdpConfigs?oauthIdpConfigId=oidc.run", config)
        #expect(
            made.isBody([
                "name": "projects/\(number)/oauthIdpConfigs/oidc.run", "clientId": "c",
                "issuer": "https://issuer.example", "responseType": ["idToken": true],
            ]), "\(made)")
        #expect(try fixture.owner("GET", "v2/projects/\(number)/oauthIdpConfigs/oidc.run").json.count == 4)
        for (query, body, message) in [
            (
                "oidc.run", config,
                "CONFIGURATION_EXISTS : The OAuthIdpConfig already exists with config_id: oidc.run"
            ),
            (
                "run", config,
                "INVALID_CONFIG_ID : Oauth_idp_config_id must start with 'oidc.' and can only have alphanumeric characters, hyphens, underscores or periods. The part after 'oidc.' must also start with a lowercase letter, end with an alphanumeric character, and have at least 2 characters."
            ),
            (
                "oidc.b", ["issuer": "https://a.example"],
                "MISSING_OAUTH_CLIENT_ID : Client_id in OAuthIdpConfig cannot be empty."
            ),
            (
                "oidc.b", config.merging(["responseType": ["idToken": true, "code": true]]) { $1 },
                "INVALID_CONFIG : response_type should have exactly one of 'idToken' and 'code' being true. Setting both types to be true ('{code: true, idToken: true}') is not yet supported."
            ),
            (
                "oidc.b", config.merging(["responseType": ["code": true]]) { $1 },
                "INVALID_CONFIG : client_secret cannot be empty for code flow."
            ),
        ] as [(String, [String: Any], String)] {
            let refused = try fixture.owner(
                "POST", "v2/projects/demo-app/oauthIdpConfigs?oauthIdpConfigId=\(query)", body)
            #expect(refused.message == message, "\(refused)")
        }
    }
}
