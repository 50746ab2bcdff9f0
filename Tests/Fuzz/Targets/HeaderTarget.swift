import HTTPServer

extension FuzzTarget {
    private static let places: [(method: String, target: String)] = [
        ("GET", "/github.com/settings/applications"), ("POST", "/github.com/session"), ("GET", "/github.com/login"),
        ("GET", "/api.github.com/user"), ("GET", "/api.github.com/user/emails"), ("POST", "/api.github.com/graphql"),
        ("POST", "/appleid.apple.com/auth/token"), ("GET", "/appleid.apple.com/auth/keys"),
        ("POST", "/github.com/login/oauth/access_token"), ("GET", "/_understudy/v1/requests"), ("GET", "/"),
        ("OPTIONS", "/appleid.apple.com/auth/token"), ("GET", "/openidconnect.googleapis.com/v1/userinfo"),
        ("GET", "/demo-app.firebaseapp.com/__/auth/handler"), ("GET", "/graph.facebook.com/v22.0/me"),
        ("POST", "/identitytoolkit.googleapis.com/v1/accounts:lookup?key=demo-api-key"),
        ("POST", "/identitytoolkit.googleapis.com/v1/projects/demo-app/accounts:lookup"),
    ]

    /// Sends requests with the header fields that are the input's lines, such as cookies, credentials, origins and
    /// languages.
    static let headers = FuzzTarget("headers", maximumLength: 2048) { bytes in
        let daemon = try FuzzDaemon.shared
        try daemon.reset()
        let session = try daemon.post("/github.com/session", form: [("account", "ada"), ("return_to", "/")])
        let cookie = String((session?.header("Set-Cookie") ?? "").prefix { $0 != ";" })
        var headers: [(name: String, value: String)] = []
        for line in bytes.lines(1).prefix(12) {
            guard let colon = line.firstIndex(of: ":") else { continue }
            let value = String(line[line.index(after: colon)...].drop { $0 == " " }).replacing("$cookie", with: cookie)
            // Requests for event streams are left out, since a stream never ends.
            guard !value.contains("event-stream") else { continue }
            headers.append((name: String(line[..<colon]), value: value))
        }
        if !headers.contains(where: { $0.name.lowercased() == "user-agent" }) {
            headers.append((name: "User-Agent", value: "fuzz"))
        }
        for place in places { try daemon.send(place.method, place.target, headers: headers) }
    }
}
