import Foundation
import HTTPServer
import TestSupport
import Testing

/// The table in `docs/firebase.md` of the differences between answers at the daemon's own address, which are the
/// official emulator's, and at the real hosts, which are production's.
@Suite("The documentation's table of what differs by address")
struct TwoAddressesTests {
    /// The daemon, called at one of the two addresses.
    struct Place {
        let fixture: FirebaseFixture
        let isHosted: Bool

        private func call(_ method: String, _ path: String, _ body: [String: Any]?, owner: Bool) throws -> Answer {
            var headers = ["Content-Type": "application/json"]
            if owner { headers["Authorization"] = "Bearer owner" }
            if isHosted { headers["Host"] = "identitytoolkit.googleapis.com" }
            return try fixture.client.request(
                method, (isHosted ? "/" : "\(FirebaseFixture.toolkit)/") + path, headers: headers,
                body: try body.map { Array(try JSONSerialization.data(withJSONObject: $0)) } ?? [])
        }

        func app(_ path: String, _ body: [String: Any], key: String = FirebaseFixture.key) throws -> Answer {
            try call("POST", "\(path)?key=\(key)", body, owner: false)
        }

        func owner(_ method: String, _ path: String, _ body: [String: Any]? = nil) throws -> Answer {
            try call(method, path, body, owner: true)
        }

        /// Makes a user with a verified address.
        func user(_ more: [String: Any] = [:], tenant: String? = nil) throws {
            let scope = tenant.map { "/tenants/\($0)" } ?? ""
            let body: [String: Any] = [
                "localId": "a", "email": "a@example.com", "password": "password123", "emailVerified": true,
            ]
            let made = try owner("POST", "v1/projects/demo-app\(scope)/accounts", body.merging(more) { $1 })
            guard made.status == 200 else { throw TransportError(reason: "\(made)") }
        }

        func signIn(_ more: [String: Any] = [:]) throws -> Answer {
            let body: [String: Any] = ["email": "a@example.com", "password": "password123", "returnSecureToken": true]
            return try app("v1/accounts:signInWithPassword", body.merging(more) { $1 })
        }
    }

    /// Returns the outcome of an answer: the error's message, or the status.
    private static func outcome(_ answer: Answer) -> String {
        answer.message.isEmpty ? String(answer.status) : answer.message
    }

    private static func factors(_ place: Place, _ factor: [String: Any]) throws -> String {
        try place.user()
        return outcome(
            try place.owner(
                "POST", "v1/projects/demo-app/accounts:update", ["localId": "a", "mfa": ["enrollments": [factor]]]))
    }

    private static func config(_ place: Place, _ mask: String, _ body: [String: Any]) throws {
        let answer = try place.owner("PATCH", "v2/projects/demo-app/config?updateMask=\(mask)", body)
        guard answer.status == 200 else { throw TransportError(reason: "\(answer)") }
    }

    /// A request for each row, by its first column.
    static let ways: [String: @Sendable (Place) throws -> String] = [
        "the name of a tenant": { try $0.owner("GET", "v2/projects/demo-app/tenants/corp")["name"] ?? "" },
        "a new tenant without a `displayName`": { outcome(try $0.owner("POST", "v2/projects/demo-app/tenants", [:])) },
        "a tenant that was deleted": {
            _ = try $0.owner("DELETE", "v2/projects/demo-app/tenants/corp")
            return outcome(try $0.app("v1/accounts:signUp", ["tenantId": "corp"]))
        },
        "a tenant with `disableAuth`": {
            _ = try $0.owner("PATCH", "v2/projects/demo-app/tenants/corp?updateMask=disableAuth", ["disableAuth": true])
            return outcome(try $0.app("v1/accounts:signUp", ["tenantId": "corp"]))
        },
        "a wrong password in a tenant, with enumeration protection in the project alone": {
            try $0.user(tenant: "corp")
            return outcome(try $0.signIn(["tenantId": "corp", "password": "wrong-password"]))
        },
        "an ID token of another tenant": {
            let user = try $0.app("v1/accounts:signUp", ["tenantId": "corp"])
            return outcome(try $0.app("v1/accounts:lookup", ["idToken": user["idToken"] ?? "", "tenantId": "other"]))
        },
        "an administrator's second factor without `mfaEnrollmentId`": {
            try factors($0, ["phoneInfo": "+16505550101"])
        },
        "an administrator's second factor that is no number": {
            try factors($0, ["phoneInfo": "x", "mfaEnrollmentId": "f"])
        },
        "`mfaSignIn:start` without `phoneSignInInfo`": { place in
            try place.user(["mfaInfo": [["phoneInfo": "+16505550101"]]])
            let first = try place.signIn()
            let factor = (first.json["mfaInfo"] as? [[String: Any]])?.first?["mfaEnrollmentId"] ?? ""
            return outcome(
                try place.app(
                    "v2/accounts/mfaSignIn:start",
                    ["mfaPendingCredential": first["mfaPendingCredential"] ?? "", "mfaEnrollmentId": factor]))
        },
        "`mfaEnrollment:start` with second factors off and no ID token": {
            try config($0, "mfa", ["mfa": ["state": "DISABLED"]])
            return outcome(try $0.app("v2/accounts/mfaEnrollment:start", ["phoneEnrollmentInfo": [String: String]()]))
        },
        "a sign-in link where the seed says nothing of `emailLink`": {
            outcome(
                try $0.app(
                    "v1/accounts:sendOobCode",
                    ["requestType": "EMAIL_SIGNIN", "email": "a@example.com", "continueUrl": "http://localhost/"],
                    key: "plain-key"))
        },
        "a link to an identity that the user has": { place in
            func assertion(_ more: [String: Any]) throws -> Answer {
                let token = try place.fixture.client.post(
                    "\(FirebaseFixture.control)/tokens",
                    json: ["provider": "google", "client": "example.apps.googleusercontent.com", "account": "ada"])
                let body: [String: Any] = [
                    "requestUri": "http://localhost", "returnSecureToken": true, "returnIdpCredential": true,
                    "postBody": "providerId=google.com&id_token=\(token["token"] ?? "")",
                ]
                return try place.app("v1/accounts:signInWithIdp", body.merging(more) { $1 })
            }
            return outcome(try assertion(["idToken": try assertion([:])["idToken"] ?? ""]))
        },
        "a signed ID token of a provider that a project with `acceptFakeCredentials` hasn't": { place in
            let token = try place.fixture.client.post(
                "\(FirebaseFixture.control)/tokens",
                json: ["provider": "google", "client": "example.apps.googleusercontent.com", "account": "ada"])
            let body: [String: Any] = [
                "requestUri": "http://localhost", "returnSecureToken": true,
                "postBody": "providerId=google.com&id_token=\(token["token"] ?? "")",
            ]
            return outcome(try place.app("v1/accounts:signInWithIdp", body, key: "plain-key"))
        },
        "an administrator's `mfa.enrollments` of `null`": { place in
            try place.user()
            func outcome(_ id: String) throws -> String {
                let body: [String: Any] = ["localId": id, "mfa": ["enrollments": NSNull()]]
                return TwoAddressesTests.outcome(
                    try place.owner("POST", "v1/projects/demo-app/accounts:update", body))
            }
            // The official emulator checks its schema before it looks for the user: firebase-tools,
            // src/emulator/auth/setAccountInfo.spec.ts.
            let isUserFirst = try outcome("nobody") == "USER_NOT_FOUND"
            #expect(isUserFirst == place.isHosted)
            return try outcome("a")
        },
        "a blocking function that fails with status 500": { place in
            let receiver = try Receiver { _ in
                .now(Response(status: 500, contentType: "application/json", body: "{}"))
            }
            try config(
                place, "blockingFunctions",
                ["blockingFunctions": ["triggers": ["beforeCreate": ["functionUri": receiver.url]]]])
            let answer = try place.app("v1/accounts:signUp", ["email": "n@example.com", "password": "password123"])
            return answer.errorCode
        },
        "reCAPTCHA's state": {
            let answer = try $0.fixture.client.request(
                "GET",
                ($0.isHosted ? "" : FirebaseFixture.toolkit)
                    + "/v2/recaptchaConfig?key=\(FirebaseFixture.key)&clientType=CLIENT_TYPE_WEB&version=RECAPTCHA_ENTERPRISE",
                headers: $0.isHosted ? ["Host": "identitytoolkit.googleapis.com"] : [:])
            let states = answer.json["recaptchaEnforcementState"] as? [[String: String]]
            return states?.first?["enforcementState"] ?? "\(answer)"
        },
    ]

    @Test("every row is as it says, at both addresses")
    func table() throws {
        let section = try Repository.read("docs/firebase.md").components(separatedBy: "\n## ").first {
            $0.hasPrefix("Where the two differ")
        }
        // The rows about users, codes and tokens are tested by `AddressTableTests`.
        let rows = try #require(section).matches(of: /\n\| (.+) \| `([^`]+)` \| `([^`]+)` \|/).filter {
            AddressTableTests.ways[String($0.1)] == nil
        }
        #expect(Set(rows.map { String($0.1) }) == Set(TwoAddressesTests.ways.keys))
        for row in rows {
            let way = try #require(TwoAddressesTests.ways[String(row.1)], "no way to \(row.1) is known to this test")
            for (isHosted, expected) in [(false, row.2), (true, row.3)] {
                let fixture = try FirebaseFixture(
                    seed: """
                        {"firebase":{"projects":[
                          {"id":"demo-app","number":"\(FirebaseFixture.number)","mfa":{"state":"ENABLED","providers":["phone"]},
                           "tenants":[{"id":"corp","displayName":"Corp","enableAnonymousUser":true}]},
                          {"id":"plain","apiKeys":["plain-key"],"acceptFakeCredentials":true,"providers":{"password":{}}}]}}
                        """)
                #expect(
                    try way(Place(fixture: fixture, isHosted: isHosted)) == String(expected), "\(row.1), \(isHosted)")
            }
        }
    }
}
