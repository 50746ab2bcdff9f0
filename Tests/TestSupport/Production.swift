import Foundation

/// Firebase under its real host names, called as Identity Toolkit's recorded clients call it.
package struct Production: Sendable {
    package let fixture: FirebaseFixture

    package init(_ fixture: FirebaseFixture) { self.fixture = fixture }

    /// Makes a project like the one of the recordings: an Identity Platform project with test numbers and email
    /// enumeration protection.
    package init(seed: String = "{}") throws {
        try self.init(
            FirebaseFixture(
                seed: """
                    {"firebase":{"projects":[{"id":"demo-app",\
                    "providers":{"password":{},"emailLink":{},"anonymous":{},"phone":{"testNumbers":{"+16505550101":"123456"}}},\
                    \(seed.dropFirst().dropLast().isEmpty ? "" : seed.dropFirst().dropLast() + ",")\
                    "emailEnumerationProtection":true}]}}
                    """))
    }

    private func send(
        _ method: String, _ host: String, _ path: String, _ headers: [String: String], _ body: [UInt8]
    ) throws -> Answer {
        try fixture.client.request(
            method, path, headers: ["Host": host].merging(headers) { $1 }, body: body)
    }

    private func json(_ body: [String: Any]) throws -> [UInt8] {
        Array(try JSONSerialization.data(withJSONObject: body))
    }

    /// Makes a call of an app.
    package func client(_ name: String, _ body: [String: Any], key: String? = FirebaseFixture.key) throws -> Answer {
        try send(
            "POST", "identitytoolkit.googleapis.com", "/v1/accounts:\(name)" + (key.map { "?key=\($0)" } ?? ""),
            ["Content-Type": "application/json"], json(body))
    }

    /// Makes a call of an administrator, below the project.
    package func admin(
        _ path: String, _ body: [String: Any]? = nil, method: String = "POST", version: String = "v1",
        isAuthorized: Bool = true
    ) throws -> Answer {
        try send(
            method, "identitytoolkit.googleapis.com", "/\(version)/projects/\(FirebaseFixture.project)\(path)",
            ["Content-Type": "application/json"].merging(isAuthorized ? ["Authorization": "Bearer owner"] : [:]) { $1 },
            body.map { try json($0) } ?? [])
    }

    /// Creates a user with the address `ID@example.org` and a password.
    package func create(_ id: String, _ more: [String: Any] = [:]) throws -> Answer {
        let body: [String: Any] = ["localId": id, "email": "\(id)@example.org", "password": "password123"]
        return try admin("/accounts", body.merging(more) { $1 })
    }

    /// Returns a user in the form of an administrator's lookup.
    package func user(_ id: String) throws -> [String: Any] {
        (try admin("/accounts:lookup", ["localId": [id]]).json["users"] as? [[String: Any]])?.first ?? [:]
    }

    package func signUp(_ id: String) throws -> Answer {
        try client("signUp", ["email": "\(id)@example.org", "password": "password123", "returnSecureToken": true])
    }

    package func signIn(_ id: String, _ password: String = "password123") throws -> Answer {
        try client(
            "signInWithPassword",
            ["email": "\(id)@example.org", "password": password, "returnSecureToken": true])
    }

    package func refresh(_ token: String?, key: String = FirebaseFixture.key) throws -> Answer {
        let form = TestClient.encode(["grant_type": "refresh_token", "refresh_token": token ?? ""])
        return try send(
            "POST", "securetoken.googleapis.com", "/v1/token?key=\(key)",
            ["Content-Type": "application/x-www-form-urlencoded"], Array(form.utf8))
    }
}

extension Answer {
    /// The names of the members, sorted.
    package var names: [String] { json.keys.sorted() }
}
