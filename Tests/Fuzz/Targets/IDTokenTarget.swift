import HTTPServer
import JSON
import EmulatorCore

extension FuzzTarget {
    /// Mints ID tokens and presents them to Firebase. The input's lines are the provider, the changed claims, the
    /// changed header and the kind of signature.
    static let idTokens = FuzzTarget("id-tokens") { bytes in
        let daemon = try FuzzDaemon.shared
        try daemon.reset()
        let lines = bytes.lines(4)
        let clients = [
            "apple": "com.example.app", "google": "example.apps.googleusercontent.com", "facebook": "1234567890",
            "firebase": "demo-app",
        ]
        guard let client = clients[lines[0]] else { return }
        if lines[0] == "firebase" {
            let form =
                ["email": "ada@example.com", "password": "correct horse", "returnSecureToken": true] as JSONValue
            try daemon.post("/identitytoolkit.googleapis.com/v1/accounts:signUp?key=demo-api-key", json: form)
        }
        var order = JSONObject([("provider", .string(lines[0])), ("client", .string(client))])
        order["claims"] = try? JSONValue(parsing: lines[1])
        order["header"] = try? JSONValue(parsing: lines[2])
        if !lines[3].isEmpty { order["signature"] = .string(lines[3]) }
        guard let minted = try daemon.control("tokens", .object(order)) else { return }
        guard minted.status == 201, let token = minted.json?["token"]?.string else { return }
        let accepted = try IDTokenTarget.present(token, of: lines[0], to: daemon)
        let isGenuine = ["", "valid"].contains(lines[3])
        try require(
            isGenuine || lines[0] == "firebase" || !accepted, "a token with a broken signature was taken: \(token)")
    }
}

enum IDTokenTarget {
    /// Sends `token` to every endpoint that accepts one. Returns whether that led to a sign-in.
    @discardableResult
    static func present(_ token: String, of provider: String, to daemon: FuzzDaemon) throws -> Bool {
        let toolkit = "/identitytoolkit.googleapis.com/v1/accounts"
        guard provider == "firebase" else {
            let body = "id_token=\(token)&providerId=\(provider == "apple" ? "apple.com" : "\(provider).com")&nonce=n"
            let answer = try daemon.post(
                "\(toolkit):signInWithIdp?key=demo-api-key",
                json: [
                    "postBody": .string(body), "requestUri": "http://localhost", "returnSecureToken": true,
                    "returnIdpCredential": true,
                ])
            if provider == "google" {
                try daemon.send("GET", "/oauth2.googleapis.com/tokeninfo?id_token=\(token)")
            }
            return answer?.status == 200 && answer?.json?["idToken"] != nil
        }
        for (call, more) in [
            ("lookup", [:]), ("update", ["displayName": "x"]), ("update", ["password": "another horse"]),
            ("sendOobCode", ["requestType": "VERIFY_EMAIL"]), ("delete", [:]),
        ] as [(String, JSONValue)] {
            var body = more.object ?? JSONObject()
            body["idToken"] = .string(token)
            try daemon.post("\(toolkit):\(call)?key=demo-api-key", json: .object(body))
        }
        let session: JSONValue = ["idToken": .string(token), "validDuration": "3600"]
        try daemon.send(
            "POST", "/identitytoolkit.googleapis.com/v1/projects/demo-app:createSessionCookie",
            headers: [
                (name: "Authorization", value: "Bearer owner"), (name: "Content-Type", value: "application/json"),
            ], session.serialized())
        return false
    }
}
