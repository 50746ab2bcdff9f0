import Foundation
import JOSE
import TestSupport
import Testing

/// The table in `docs/firebase.md` of the differences between answers at the daemon's own address and under the real
/// host names.
@Suite("The documentation's table of Firebase at its two addresses")
struct AddressTableTests {
    /// A world, called at one of the addresses.
    struct Place: Sendable {
        let fixture: FirebaseFixture
        let isHosted: Bool

        var production: Production { Production(fixture) }

        func client(_ name: String, _ body: [String: Any]) throws -> Answer {
            try isHosted ? production.client(name, body) : fixture.v1(name, body)
        }

        func admin(_ path: String, _ body: [String: Any]) throws -> Answer {
            try isHosted ? production.admin(path, body) : fixture.admin("POST", path, body)
        }

        /// Makes a user at this address, and returns the user's ID and e-mail address.
        func create(_ more: [String: Any] = [:]) throws -> (id: String, email: String) {
            let id = "u\(UInt32.random(in: 0...(.max)))"
            let body: [String: Any] = ["localId": id, "email": "\(id)@example.org", "password": "password123"]
            _ = try admin("/accounts", body.merging(more) { $1 })
            return (id, "\(id)@example.org")
        }

        func signIn(_ email: String) throws -> Answer {
            try client(
                "signInWithPassword", ["email": email, "password": "password123", "returnSecureToken": true])
        }

        func user(_ id: String) throws -> [String: Any] {
            let users = try admin("/accounts:lookup", ["localId": [id]]).json["users"]
            return (users as? [[String: Any]])?.first ?? [:]
        }

        func code(_ kind: String, _ email: String, _ more: [String: Any] = [:]) throws -> Answer {
            let body: [String: Any] = ["requestType": kind, "email": email, "returnOobLink": true]
            return try admin("/accounts:sendOobCode", body.merging(more) { $1 })
        }

        /// Returns the error, or that there is none.
        func outcome(_ answer: Answer) -> String { answer.status == 200 ? "200" : answer.message }
    }

    static let ways: [String: @Sendable (Place) throws -> String] = [
        "ID tokens are signed with": { place in
            let token = try place.signIn(place.create().email)["idToken"] ?? ""
            let header = Base64URL.decode(token.split(separator: ".").first ?? "") ?? []
            return String(decoding: header, as: UTF8.self)
        },
        "a custom token without a signature": { place in
            let now = Int(Date().timeIntervalSince1970)
            let claims: [String: Any] = [
                "aud": "https://identitytoolkit.googleapis.com/google.identity.identitytoolkit.v1.IdentityToolkit",
                "iss": "a@example.com", "sub": "a@example.com", "iat": now, "exp": now + 3600, "uid": "custom",
            ]
            let body = Base64URL.encode(Array(try JSONSerialization.data(withJSONObject: claims)))
            return place.outcome(try place.client("signInWithCustomToken", ["token": "eyJhbGciOiJub25lIn0.\(body)."]))
        },
        "a sign-in by password or custom token without `returnSecureToken`": { place in
            let email = try place.create().email
            let answer = try place.client("signInWithPassword", ["email": email, "password": "password123"])
            let issuer = answer.claims()["iss"] as? String
            return answer["refreshToken"] != nil
                ? "session" : issuer == "https://identitytoolkit.google.com/" ? "legacy" : "\(answer)"
        },
        "the refresh token of a deleted user": { place in
            let user = try place.create()
            let token = try place.signIn(user.email)["refreshToken"]
            _ = try place.admin("/accounts:delete", ["localId": user.id])
            return place.outcome(
                try place.isHosted ? place.production.refresh(token) : place.fixture.refresh(token))
        },
        "`signUp` with an empty address": { place in
            place.outcome(try place.client("signUp", ["email": "", "password": "password123"]))
        },
        "`customAttributes` in a user's own `update`": { place in
            let token = try place.signIn(place.create().email)["idToken"] ?? ""
            return place.outcome(try place.client("update", ["idToken": token, "customAttributes": "{}"]))
        },
        "`linkProviderUserInfo` in a user's own `update`": { place in
            let token = try place.signIn(place.create().email)["idToken"] ?? ""
            let link = ["providerId": "google.com", "rawId": token]
            return place.outcome(try place.client("update", ["idToken": token, "linkProviderUserInfo": link]))
        },
        "an administrator's new address for a user whose address is verified": { place in
            let user = try place.create(["emailVerified": true])
            let changed = try place.admin("/accounts:update", ["localId": user.id, "email": "new\(user.email)"])
            return changed.json["emailVerified"] as? Bool == true ? "verified" : "unverified"
        },
        "an administrator's lookup for nobody": { place in place.outcome(try place.admin("/accounts:lookup", [:])) },
        "an administrator's lookup of a password": { place in
            let hash = try place.user(place.create().id)["passwordHash"] as? String ?? ""
            return hash.hasPrefix("fakeHash:salt=") ? "fakeHash:salt=…:password=…" : hash
        },
        "`batchCreate` of a user who is there": { place in
            let user = try place.create()
            let users = [["localId": user.id, "email": "other\(user.email)"]]
            let answer = try place.admin("/accounts:batchCreate", ["users": users])
            return try place.user(user.id)["email"] as? String == user.email ? answer.text : "overwritten"
        },
        "`batchCreate` with the number `+1!`": { place in
            let answer = try place.admin(
                "/accounts:batchCreate", ["users": [["localId": "e\(place.isHosted)", "phoneNumber": "+1!"]]])
            return try place.user("e\(place.isHosted)").isEmpty ? answer.text : "taken"
        },
        "`batchCreate` with hashes and how they were made": { place in
            let email = "hash\(place.isHosted)@example.org"
            let hash = PasswordHashing.hmac(.sha256, key: Array("key".utf8), Array("password123".utf8))
            _ = try place.admin(
                "/accounts:batchCreate",
                [
                    "hashAlgorithm": "HMAC_SHA256", "signerKey": "a2V5",
                    "users": [["localId": email, "email": email, "passwordHash": Data(hash).base64EncodedString()]],
                ])
            return try place.signIn(email).status == 200 ? "signs in" : "kept"
        },
        "a second code of a kind for an address": { place in
            let email = try place.create().email
            let first = try place.code("PASSWORD_RESET", email)["oobCode"] ?? ""
            _ = try place.code("PASSWORD_RESET", email)
            let answer = try place.client("resetPassword", ["oobCode": first])
            return answer.status == 200 ? "works" : answer.message
        },
        "a code and an ID token in one `update`": { place in
            let (one, other) = (try place.create(), try place.create())
            let code = try place.code("VERIFY_EMAIL", one.email)["oobCode"] ?? ""
            let token = try place.signIn(other.email)["idToken"] ?? ""
            let changed = try place.client("update", ["oobCode": code, "idToken": token])
            return changed["localId"] == one.id
                ? "the code's user" : changed["localId"] == other.id ? "the token's user" : ""
        },
        // The right column is recorded as email-link/sign-in#link-disabled. The left one: firebase-tools,
        // src/emulator/auth/operations.ts, sendOobCode.
        "an administrator's sign-in link for a disabled user, and anybody's mail to one": { place in
            let user = try place.create(["disabled": true])
            let answer = try place.code("EMAIL_SIGNIN", user.email, ["continueUrl": "http://localhost/"])
            let mail = try place.client("sendOobCode", ["requestType": "PASSWORD_RESET", "email": user.email])
            #expect(answer.message == mail.message)
            return place.outcome(answer)
        },
        "a link to change an address, to one that is taken, with enumeration protection": { place in
            let (one, other) = (try place.create(), try place.create())
            let answer = try place.code("VERIFY_AND_CHANGE_EMAIL", one.email, ["newEmail": other.email])
            #expect(answer["oobLink"] == nil)
            return place.outcome(answer)
        },
        "a continue URL at `127.0.0.1`, which isn't in `authorizedDomains`": { place in
            place.outcome(
                try place.code("PASSWORD_RESET", place.create().email, ["continueUrl": "http://127.0.0.1:3000/"]))
        },
        "`linkDomain` that isn't among `linkDomains` in the seed": { place in
            place.outcome(try place.code("PASSWORD_RESET", place.create().email, ["linkDomain": "cool.link"]))
        },
        "a link for an app (`canHandleCodeInApp`, `iOSBundleId` or `androidPackageName`)": { place in
            let app: [String: Any] = [
                "continueUrl": "http://localhost/", "canHandleCodeInApp": true, "iOSBundleId": "com.example.ios",
            ]
            let answer = try place.code("PASSWORD_RESET", place.create().email, app)
            return answer["oobLink"]?.contains("/__/auth/links?link=") == true ? "wrapped" : "plain"
        },
        "a sign-in link to an unverified user's address": { place in
            let user = try place.create()
            let code = try place.code("EMAIL_SIGNIN", user.email, ["continueUrl": "http://localhost/"])["oobCode"] ?? ""
            _ = try place.client("signInWithEmailLink", ["oobCode": code, "email": user.email])
            return try place.user(user.id)["passwordHash"] == nil ? "goes" : "stays"
        },
        "a blocking function's refusal": { place in
            let setup = try FunctionSetup()
            setup.answer("beforeCreate", status: 403, #"{"error":{"message":"No","status":"PERMISSION_DENIED"}}"#)
            let place = Place(fixture: setup.fixture, isHosted: place.isHosted)
            let answer = try place.client("signUp", ["email": "a@example.org", "password": "password123"])
            return answer.message
        },
    ]

    @Test("each row is as it says, at both addresses")
    func table() throws {
        let rows = try Repository.read("docs/firebase.md").split(separator: "\n").drop {
            !$0.hasPrefix("| what | at the daemon's own address")
        }.dropFirst(2).prefix { $0.hasPrefix("|") }
        #expect(rows.count >= 20)
        let fixture = try FirebaseFixture()
        var walked: Set<String> = []
        for row in rows {
            let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            // The other rows are tested by `TwoAddressesTests`.
            guard TwoAddressesTests.ways[cells[0]] == nil else { continue }
            let way = try #require(AddressTableTests.ways[cells[0]], "no way to \(cells[0]) is known to this test")
            walked.insert(cells[0])
            for (place, cell) in [(false, cells[1]), (true, cells[2])] {
                let outcome = try way(Place(fixture: fixture, isHosted: place))
                // The code in the cell is compared up to the part that it leaves out.
                let code = cell.split(separator: "`")[cell.hasPrefix("`") ? 0 : 1]
                let wanted = code.prefix { $0 != "…" }.replacing(/URL.*/, with: "")
                #expect(outcome.contains(wanted), "\(cells[0]), \(place ? "hosted" : "own"): \(outcome)")
            }
        }
        #expect(walked == Set(AddressTableTests.ways.keys))
    }
}
