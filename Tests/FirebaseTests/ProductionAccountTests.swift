import Foundation
import TestSupport
import Testing

/// Answers that were recorded at production Identity Toolkit in September 2026: the public repository t-k/fireemu,
/// `conformance/auth-account-production.json`. Each one is named by the program and the step there.
@Suite("Firebase as production: users")
struct ProductionAccountTests {
    private let production: Production

    init() throws { production = try Production() }

    private static let redacted = "UkVEQUNURUQ="

    private func names(_ user: [String: Any]) -> Set<String> { Set(user.keys) }

    // MARK: - What lookup says

    @Test("who was made by an administrator or an import has never signed in; the first sign-in says when")
    func neverSignedIn() throws {
        // admin/create, steps every-field and lookup-every-field; generated-local-id
        let made = try production.create("full", ["displayName": "Full User", "photoUrl": "https://example.com/f.png"])
        #expect(made.names == ["email", "kind", "localId"])
        var user = try production.user("full")
        #expect(user["disabled"] as? Bool == false)
        #expect(names(user).isDisjoint(with: ["lastLoginAt", "lastRefreshAt"]))
        _ = try production.signIn("full")
        user = try production.user("full")
        #expect(names(user).isSuperset(of: ["lastLoginAt", "lastRefreshAt"]))
        // admin/import, step lookup-imported: the user has only what the import gives, and always whether the address
        // is verified.
        let users: [[String: Any]] = [
            ["localId": "i2", "phoneNumber": "+16505550103"], ["localId": "i3", "lastLoginAt": "1600000100000"],
        ]
        #expect(try production.admin("/accounts:batchCreate", ["users": users]).names == ["kind"])
        let imported = try production.user("i2")
        #expect(imported["disabled"] as? Bool == false)
        #expect(imported["emailVerified"] as? Bool == false)
        #expect(names(imported).isDisjoint(with: ["lastLoginAt", "lastRefreshAt"]))
        #expect(try production.user("i3")["lastLoginAt"] as? String == "1600000100000")
        #expect(try production.user("i3")["lastRefreshAt"] == nil)
        // admin/batch-get, step create-phone: a missing address is an empty text.
        #expect(try production.admin("/accounts", ["localId": "none"])["email"] == "")
        // client/lifecycle, step lookup: `disabled` was never set for the user.
        let own = try production.signUp("own")
        #expect(try production.user(own["localId"] ?? "")["disabled"] == nil)
        // client/anonymous, step lookup, and phone, step lookup-phone-user
        let anonymous = try production.client("signUp", ["returnSecureToken": true])
        #expect(try production.user(anonymous["localId"] ?? "")["validSince"] == nil)
    }

    @Test("a number comes after the providers, and the password last, also that of a link in an e-mail")
    func orderOfProviders() throws {
        // provider, steps link-google, link-oidc and lookup-linked; admin/create, step lookup-every-field. The number after the
        // providers: https://github.com/firebase/firebase-admin-node/issues/481, and the Admin SDK's integration test of imports.
        _ = try production.create("pv", ["phoneNumber": "+16505550104"])
        for link in [["providerId": "google.com", "rawId": "1"], ["providerId": "oidc.corp", "rawId": "2"]] {
            _ = try production.admin("/accounts:update", ["localId": "pv", "linkProviderUserInfo": link])
        }
        let list = try production.user("pv")["providerUserInfo"] as? [[String: Any]] ?? []
        #expect(list.map { $0["providerId"] as? String } == ["google.com", "oidc.corp", "phone", "password"])
    }

    @Test("the time of the last password stays when the password goes, and whether an address was verified")
    func whatStays() throws {
        // admin/update, steps delete-email, delete-password and lookup-after-credential-deletes
        _ = try production.create("up", ["emailVerified": true])
        let without = try production.admin("/accounts:update", ["localId": "up", "deleteAttribute": ["EMAIL"]])
        #expect(without.names == ["emailVerified", "kind", "localId", "passwordHash"])
        #expect(without.json["emailVerified"] as? Bool == true)
        _ = try production.admin("/accounts:update", ["localId": "up", "deleteAttribute": ["PASSWORD"]])
        let user = try production.user("up")
        #expect(user["passwordUpdatedAt"] is Int)
        #expect(user["emailVerified"] as? Bool == true)
        #expect(names(user).isDisjoint(with: ["passwordHash", "providerUserInfo", "email"]))
    }

    @Test("claims and empty names are kept as they were sent")
    func keptAsSent() throws {
        // admin/custom-attributes, steps readback-whitespace and readback-after-clear
        _ = try production.create("ca")
        for text in [#"{ "b": 1,  "a" : [ 2 ] }"#, "{}"] {
            _ = try production.admin("/accounts:update", ["localId": "ca", "customAttributes": text])
            #expect(try production.user("ca")["customAttributes"] as? String == text)
        }
        // values, steps client-update-display-name-empty and client-update-photo-url-empty
        let signedIn = try production.signIn("ca")
        let changed = try production.client(
            "update", ["idToken": signedIn["idToken"] ?? "", "displayName": "", "photoUrl": ""])
        #expect(changed["displayName"] == "")
        #expect(changed["photoUrl"] == "")
        #expect(try production.user("ca")["photoUrl"] as? String == "")
    }

    // MARK: - Changes

    @Test("a change of the user's own brings a session only where one is wanted and sessions ended")
    func tokensOfChanges() throws {
        // The change of the password has ended the token of an earlier second.
        try production.fixture.freeze()
        let user = try production.signUp("profile")
        func change(_ fields: [String: Any]) throws -> [String] {
            let answer = try production.client("update", ["idToken": user["idToken"] ?? ""].merging(fields) { $1 })
            #expect(answer["passwordHash"] == ProductionAccountTests.redacted)
            return answer.names.filter { ["idToken", "refreshToken", "expiresIn"].contains($0) }
        }
        // client/profile, step set-name-and-photo
        #expect(try change(["displayName": "A", "returnSecureToken": true]) == [])
        // policy/default/client-update, step update-min-6; privilege/valid-token-admin-fields, step client-update-valid-since
        #expect(try change(["password": "new password"]) == ["idToken"])
        #expect(try change(["validSince": "1700000000"]) == ["idToken"])
        // client/password-change, step change-password
        #expect(
            try change(["password": "password456", "returnSecureToken": true])
                == ["expiresIn", "idToken", "refreshToken"])
    }

    @Test("an administrator's new address counts as verified as the old one, and ends the sessions")
    func administratorsAddress() throws {
        // admin/update, step change-email. It is documented that sessions end:
        // https://firebase.google.com/docs/auth/admin/manage-sessions
        _ = try production.create("up", ["emailVerified": true])
        let signedIn = try production.signIn("up")
        try production.fixture.advance("2s")
        let changed = try production.admin("/accounts:update", ["localId": "up", "email": "new@example.org"])
        #expect(changed.json["emailVerified"] as? Bool == true)
        #expect(changed["passwordHash"] == ProductionAccountTests.redacted)
        #expect(try production.client("lookup", ["idToken": signedIn["idToken"] ?? ""]).message == "TOKEN_EXPIRED")
        #expect(try production.refresh(signedIn["refreshToken"]).message == "TOKEN_EXPIRED")
    }

    @Test("an anonymous user gets an address by signUp, not by a change")
    func anonymousAddress() throws {
        // client/anonymous-upgrade, steps upgrade-with-update and lookup-after-update-upgrade
        let user = try production.client("signUp", ["returnSecureToken": true])
        let fields = ["email": "up@example.org", "password": "password123"]
        let idToken = user["idToken"] ?? ""
        #expect(
            try production.client("update", fields.merging(["idToken": idToken]) { $1 }).message
                == "OPERATION_NOT_ALLOWED : Please verify the new email before changing email.")
        #expect(try production.user(user["localId"] ?? "")["email"] == nil)
        // step upgrade-with-sign-up
        let upgraded = try production.client("signUp", fields.merging(["idToken": idToken]) { $1 })
        #expect(upgraded["localId"] == user["localId"])
    }

    @Test("an anonymous user can change and delete itself at any time")
    func anonymousIsAlwaysRecent() throws {
        // Anonymous users are exempt: "does not apply if the user is anonymous":
        // https://pub.dev/documentation/firebase_auth/latest/firebase_auth/User/delete.html
        let user = try production.client("signUp", ["returnSecureToken": true])
        try production.fixture.advance("20m")
        #expect(try production.client("delete", ["idToken": user["idToken"] ?? ""]).status == 200)
    }

    @Test(
        "a user's own request can't do what is for administrators",
        arguments: [
            // privilege/valid-token-admin-fields
            (#"{"customAttributes":"{\"role\":\"admin\"}"}"#, "INSUFFICIENT_PERMISSION"),
            (#"{"disableUser":true}"#, "OPERATION_NOT_ALLOWED"),
            (
                #"{"linkProviderUserInfo":{"providerId":"google.com","rawId":"raw"}}"#,
                "UNEXPECTED_PARAMETER : link_provider_user_info is not allowed with ID token."
            ), (#"{"emailVerified":true}"#, ""),
        ])
    func administratorsFields(fields: String, wanted: String) throws {
        _ = try production.create("priv")
        let before = try production.user("priv")
        var body = try JSONSerialization.jsonObject(with: Data(fields.utf8)) as? [String: Any] ?? [:]
        body["idToken"] = try production.signIn("priv")["idToken"]
        #expect(try production.client("update", body).message == wanted)
        let after = try production.user("priv")
        for name in ["customAttributes", "disabled", "emailVerified"] {
            #expect("\(before[name] ?? "")" == "\(after[name] ?? "")", "\(name)")
        }
        #expect((after["providerUserInfo"] as? [Any])?.count == 1)
    }

    // MARK: - Imports and deletions

    @Test("an import overwrites who is there, and of two accounts with an ID the last one stays")
    func overwritingImport() throws {
        // admin/import, steps import-existing-without-overwrite and import-duplicate-local-id-in-request
        _ = try production.create("i1", ["displayName": "Imported"])
        let users = [
            ["localId": "i1", "email": "new@example.org"], ["localId": "i6", "email": "i6@example.org"],
            ["localId": "i6", "email": "i6b@example.org"],
        ]
        #expect(try production.admin("/accounts:batchCreate", ["users": users]).names == ["kind"])
        #expect(try production.user("i1")["email"] as? String == "new@example.org")
        #expect(try production.user("i1")["displayName"] == nil)
        #expect(try production.user("i6")["email"] as? String == "i6b@example.org")
    }

    @Test("a deleted user's refresh token says so, and that of an earlier user with the same ID is over")
    func deletedUsersToken() throws {
        // admin/delete-effects, step old-refresh-token. Only USER_NOT_FOUND and TOKEN_EXPIRED make the SDKs sign out:
        // https://cloud.google.com/identity-platform/docs/use-rest-api#section-refresh-token
        _ = try production.create("reuse")
        let first = try production.signIn("reuse")
        _ = try production.admin("/accounts:delete", ["localId": "reuse"])
        let deleted = try production.refresh(first["refreshToken"])
        #expect(deleted.message == "USER_NOT_FOUND")
        #expect((deleted.json["error"] as? [String: Any])?["status"] as? String == "INVALID_ARGUMENT")
        // admin/uid-reuse, steps first-refresh-token-after-reuse and first-id-token-after-reuse
        try production.fixture.advance("2s")
        _ = try production.create("reuse", ["email": "second@example.org"])
        #expect(try production.refresh(first["refreshToken"]).message == "TOKEN_EXPIRED")
        #expect(try production.client("lookup", ["idToken": first["idToken"] ?? ""]).message == "TOKEN_EXPIRED")
        #expect(try production.refresh("not-a-token").message == "INVALID_REFRESH_TOKEN")
    }

    // MARK: - What is read of a request

    private struct Refused: Sendable {
        let path: String
        let body: String
        let message: String
        /// The step in the recording `auth-account`.
        let step: String
    }

    private static let refused = [
        Refused(
            path: "/accounts:update",
            body: #"{"localId":"u","linkProviderUserInfo":{"providerId":"google.com"}}"#,
            message: "MISSING_IDENTIFIER : providerId & rawId are both required for provider linking",
            step: "provider#link-without-raw-id"),
        Refused(
            path: "/accounts:update",
            body: #"{"localId":"u","linkProviderUserInfo":{"providerId":"password","rawId":"x"}}"#,
            message: "INVALID_PROVIDER_ID", step: "provider#link-password-provider"),
        Refused(
            path: "/accounts:update", body: #"{"localId":"u","deleteAttribute":["NOT_A_FIELD"]}"#,
            message: "Invalid value at 'delete_attribute[0]' (type.googleapis.com/google.cloud.identitytoolkit.v1."
                + #"SetAccountInfoRequest.UserAttributeName), "NOT_A_FIELD""#,
            step: "admin/update#unknown-delete-attribute"),
        Refused(
            path: "/accounts:update", body: #"{"localId":"nobody","password":"12345"}"#, message: "USER_NOT_FOUND",
            step: "policy/default/routes#admin-update-weak"),
        Refused(
            path: "/accounts:update", body: #"{"localId":"u","customAttributes":"[1,2]"}"#,
            message: "INVALID_CLAIMS : Not a JSON Object: [1,2]", step: "admin/custom-attributes#json-array"),
        Refused(
            path: "/accounts", body: #"{"localId":"v","email":"u@example.org"}"#, message: "EMAIL_EXISTS",
            step: "config/duplicate-email#admin-create-duplicate"),
        Refused(
            path: "/accounts", body: #"{"localId":"v","phoneNumber":"+0 650 555 0104"}"#,
            message: "INVALID_PHONE_NUMBER : Invalid format.", step: "values#admin-create-phone-leading-zero"),
        Refused(
            path: "/accounts:lookup", body: "{}", message: "MISSING_ID_TOKEN", step: "admin/lookup#no-selector"),
        Refused(
            path: "/accounts:lookup", body: #"{"localId":[]}"#, message: "MISSING_ID_TOKEN",
            step: "admin/lookup#empty-arrays"),
        Refused(
            path: "/accounts:query", body: #"{"sortBy":"NOT_A_FIELD"}"#,
            message: "Invalid value at 'sort_by' (type.googleapis.com/google.cloud.identitytoolkit.v1."
                + #"QueryUserInfoRequest.SortByField), "NOT_A_FIELD""#, step: "admin/query#bad-sort"),
        Refused(
            path: "/accounts:query", body: #"{"offset":"-1"}"#, message: "Internal error encountered.",
            step: "admin/query#negative-offset"),
        Refused(
            path: "/accounts:batchCreate", body: #"{"users":[{"localId":"w","createdAt":"yesterday"}]}"#,
            message: #"Invalid value at 'users[0].created_at' (TYPE_INT64), "yesterday""#,
            step: "values#import-created-at-invalid"),
        Refused(
            path: "/accounts:batchCreate", body: #"{"users":[{"localId":"w","passwordHash":"not base64!"}]}"#,
            message: #"Invalid value at 'users[0].password' (TYPE_BYTES), Base64 decoding failed for "not base64!""#,
            step: "admin/import-hash/errors#password-hash-not-base64"),
    ]

    @Test("requests that an administrator can't make", arguments: refused)
    private func refusals(_ refused: Refused) throws {
        _ = try production.create("u")
        let body = try JSONSerialization.jsonObject(with: Data(refused.body.utf8)) as? [String: Any]
        let answer = try production.admin(refused.path, body)
        #expect(answer.message == refused.message, "\(refused.step)")
        let error = answer.json["error"] as? [String: Any] ?? [:]
        // The list of errors is there in every case. Google's frontend leaves out the domain, and adds details.
        let listed = (error["errors"] as? [[String: String]])?.first ?? [:]
        #expect(listed["message"] == refused.message)
        let isFrontend = refused.message.hasPrefix("Invalid value")
        #expect(listed["domain"] == (isFrontend ? nil : "global"))
        #expect(listed["reason"] == (answer.status == 500 ? "backendError" : "invalid"))
        #expect((error["details"] != nil) == isFrontend)
        #expect(try production.user("w").isEmpty)
    }

    @Test("a number is a text, and one text a list; an empty ID token isn't a missing one")
    func laxTypes() throws {
        // privilege/credentials
        _ = try production.create("cred")
        #expect((try production.admin("/accounts:lookup", ["localId": "cred"]).json["users"] as? [Any])?.count == 1)
        #expect(try production.admin("/accounts:lookup", ["localId": [42]]).names == ["kind"])
        for token in ["", 42] as [Any] {
            #expect(try production.client("lookup", ["idToken": token]).message == "INVALID_ID_TOKEN")
        }
        #expect(try production.client("lookup", [:]).message == "MISSING_ID_TOKEN")
        // client/validation, step empty-email
        #expect(try production.client("signUp", ["email": "", "password": "password123"]).message == "MISSING_EMAIL")
    }

    @Test("an API key isn't enough for an administrator's path")
    func keyAlone() throws {
        // privilege/credentials, step admin-lookup-with-api-key-only; auth-credential, session-cookie/sessions#client-api-key
        let key = "?key=\(FirebaseFixture.key)"
        let lookup = try production.admin("/accounts:lookup\(key)", ["localId": ["u"]], isAuthorized: false)
        #expect(lookup.status == 400)
        #expect(
            lookup.message
                == "INSUFFICIENT_PERMISSION : Only authenticated requests can specify target_project_id.")
        #expect(try production.admin("/accounts:lookup", ["localId": ["u"]], isAuthorized: false).status == 403)
        let cookie = try production.admin(":createSessionCookie\(key)", ["idToken": "x"], isAuthorized: false)
        #expect(cookie.status == 401)
        #expect(cookie.message.hasPrefix("API keys are not supported by this API."))
        let listed = ((cookie.json["error"] as? [String: Any])?["errors"] as? [[String: String]])?.first
        #expect(listed?["location"] == "Authorization")
        // refresh/refusals#invalid-api-key
        let wrong = try production.refresh("x", key: "AIzaSyD-not-a-key")
        #expect(wrong.text.contains("securetoken.googleapis.com"))
        #expect(wrong.text.contains("google.rpc.LocalizedMessage"))
    }

    @Test("lengths are counted in UTF-16 code units")
    func lengths() throws {
        // values, steps client-update-display-name-257 and -astral-129; policy/default/client-update
        let idToken = try production.signUp("values")["idToken"] ?? ""
        func change(_ fields: [String: String]) throws -> String {
            try production.client("update", fields.merging(["idToken": idToken]) { $1 }).message
        }
        for (name, wanted) in [
            (String(repeating: "n", count: 256), ""), (String(repeating: "あ", count: 256), ""),
            (String(repeating: "n", count: 257), "INVALID_PROFILE_ATTRIBUTE : Display name too long."),
            (String(repeating: "😀", count: 129), "INVALID_PROFILE_ATTRIBUTE : Display name too long."),
        ] { #expect(try change(["displayName": name]) == wanted) }
        let long = "PASSWORD_DOES_NOT_MEET_REQUIREMENTS : Password cannot be longer than 4096 characters"
        for (password, wanted) in [
            ("ééé", "WEAK_PASSWORD : Password should be at least 6 characters"),
            (String(repeating: "😀", count: 2049), long),
            (String(repeating: "é", count: 4097), long), (String(repeating: "😀", count: 3), ""),
        ] { #expect(try change(["password": password]) == wanted) }
        // admin/create, step local-id-129; admin/lookup, step over-100-ids; admin/import, step import-1001
        let id = String(repeating: "b", count: 129)
        #expect(try production.admin("/accounts", ["localId": id])["localId"] == id)
        #expect(try production.admin("/accounts:lookup", ["localId": (0...100).map { "many-\($0)" }]).status == 200)
        let users = (0...1000).map { ["localId": "bulk-\($0)"] }
        #expect(try production.admin("/accounts:batchCreate", ["users": users]).names == ["kind"])
    }

    @Test(
        "numbers are taken as people write them",
        arguments: [
            // values, steps admin-create-phone-formatted and -letters, and lookup-created
            ("+1 650-555-0104", "+16505550104"), ("+1650555ABCD", "+16505552223"),
            ("+1 (650) 555.0109", "+16505550109"),
        ])
    func phoneNumbers(text: String, number: String) throws {
        _ = try production.admin("/accounts", ["localId": "p", "phoneNumber": text])
        #expect(try production.user("p")["phoneNumber"] as? String == number)
    }

    @Test("several users of one address are all found")
    func sharedAddress() throws {
        // config/duplicate-email, step admin-lookup-by-email
        _ = try production.create("dup")
        _ = try production.admin(
            "/accounts:batchCreate", ["users": [["localId": "import", "email": "dup@example.org"]]])
        let found = try production.admin("/accounts:lookup", ["email": ["DUP@example.org"]]).json["users"]
        #expect((found as? [[String: Any]])?.map { $0["localId"] as? String } == ["dup", "import"])
    }

    // MARK: - Lists

    @Test("queries: nothing for a limit of none; who is alike comes by ID, whichever the order")
    func queries() throws {
        // admin/query
        for (id, name) in [("q1", "Carol"), ("q2", "alice"), ("q3", "Bob"), ("q5", "Bob")] {
            _ = try production.create(id, ["displayName": name])
        }
        _ = try production.admin("/accounts", ["localId": "q4"])
        func ids(_ body: [String: Any]) throws -> [String] {
            let answer = try production.admin("/accounts:query", body)
            let users = answer.json["userInfo"] as? [[String: Any]] ?? []
            #expect(answer["recordsCount"] == String(users.count))
            return users.compactMap { $0["localId"] as? String }
        }
        #expect(try ids(["sortBy": "NAME", "order": "DESC"]) == ["q2", "q1", "q3", "q5", "q4"])
        #expect(try ids(["sortBy": "NAME", "order": "ASC"]) == ["q4", "q3", "q5", "q1", "q2"])
        #expect(try ids(["sortBy": "LAST_LOGIN_AT", "order": "DESC"]) == ["q1", "q2", "q3", "q4", "q5"])
        #expect(try ids(["sortBy": "USER_ID", "order": "DESC"]) == ["q5", "q4", "q3", "q2", "q1"])
        #expect(try ids(["limit": "0"]) == [])
        #expect(try ids(["limit": "2", "offset": "1"]) == ["q2", "q3"])
        #expect(try production.admin(":queryAccounts", ["returnUserInfo": false])["recordsCount"] == "5")
    }

    @Test("the list of all users has hashes in base64, with their salt and version")
    func list() throws {
        // admin/batch-get
        _ = try production.create("g1")
        _ = try production.admin("/accounts", ["localId": "g2"])
        let list = try production.admin("/accounts:batchGet?maxResults=5", method: "GET")
        let users = list.json["users"] as? [[String: Any]] ?? []
        #expect(users.map { $0["version"] as? Int } == [0, nil])
        for name in ["passwordHash", "salt"] {
            #expect(Data(base64Encoded: users.first?[name] as? String ?? "-") != nil)
            #expect(users.last?[name] == nil)
        }
        #expect(try production.admin("/accounts:batchGet?maxResults=0", method: "GET").names == ["kind"])
    }
}
