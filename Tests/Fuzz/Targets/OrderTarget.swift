import HTTPServer
import JSON
import EmulatorCore
import Recordings

extension FuzzTarget {
    /// Orders faults and outcomes, which are the input's lines as JSON. It checks that accepted ones are listed, and
    /// then runs sign-ins.
    static let orders = FuzzTarget("orders") { bytes in
        let daemon = try FuzzDaemon.shared
        try daemon.reset()
        for line in bytes.lines(1).prefix(4) {
            guard let value = try? JSONValue(parsing: line) else { continue }
            try checkSchema(value)
            let call = value["effect"] != nil ? "faults" : "outcomes"
            let answer = try daemon.control(call, OrderTarget.withoutDelay(value))
            guard answer?.status == 201 else { continue }
            let listed = try daemon.send("GET", "\(FuzzDaemon.control)/\(call)")
            try require((listed?.json?[call]?.array?.count ?? 0) > 0, "taken, but not listed: \(line)")
        }
        try signIn(daemon)
    }

    private static func checkSchema(_ value: JSONValue) throws(Finding) {
        guard Fault.schema.issues(in: LocatedJSON(value, file: "body")).isEmpty else { return }
        let fault = Fault(reading: value).named("f")
        guard case .object(var written) = fault.json else { throw Finding("a fault that isn't an object") }
        for name in ["id", "seen", "done"] { written[name] = nil }
        let again = LocatedJSON(.object(written), file: "again")
        try require(
            Fault.schema.issues(in: again).isEmpty, "a fault can't be ordered as it is listed: \(fault.json.text)")
        try require(
            Fault(reading: again.value).named("f").json.text == fault.json.text, "a fault changes: \(fault.json.text)")
        _ = fault.match.accepts(host: Glob("appleid.apple.com"))
        _ = fault.match.path?.matches("/auth/token")
    }

    /// Sends the requests to which orders apply: authorizations, redemptions of codes, and requests for key sets.
    private static func signIn(_ daemon: FuzzDaemon) throws {
        let google = "client_id=example.apps.googleusercontent.com&response_type=code&scope=openid+email&state=s"
        let callback = "redirect_uri=http://localhost:3000/callback"
        for target in [
            "/appleid.apple.com/auth/authorize?client_id=com.example.web.auto&redirect_uri=https://example.com/callback"
                + "&response_type=code&state=s",
            "/github.com/login/oauth/authorize?client_id=Ov23liAutoAnswers001&state=s",
            "/accounts.google.com/o/oauth2/v2/auth?\(google)&\(callback)",
            "/www.facebook.com/v22.0/dialog/oauth?client_id=1234567890&state=s&\(callback)",
            "/appleid.apple.com/auth/keys", "/www.googleapis.com/oauth2/v1/certs",
        ] {
            let answer = try daemon.send("GET", target)
            guard let code = answer?.header("Location").flatMap({ Variables.field("code", of: $0) }) else { continue }
            try redeem(code, target, daemon)
        }
        try daemon.control("apple/authorizations", ["client": "com.example.app", "account": "ada"])
        try daemon.post(
            "/identitytoolkit.googleapis.com/v1/accounts:signUp?key=demo-api-key", json: ["returnSecureToken": true])
    }

    private static func redeem(_ code: String, _ target: String, _ daemon: FuzzDaemon) throws {
        for _ in 0..<2 {
            if target.contains("apple") {
                try daemon.post(
                    "/appleid.apple.com/auth/token",
                    form: [
                        ("client_id", "com.example.web.auto"),
                        ("client_secret", try daemon.clientSecret(for: "com.example.web.auto")), ("code", code),
                        ("grant_type", "authorization_code"), ("redirect_uri", "https://example.com/callback"),
                    ])
            } else if target.contains("github") {
                try daemon.post(
                    "/github.com/login/oauth/access_token",
                    form: [
                        ("client_id", "Ov23liAutoAnswers001"), ("client_secret", "github-secret-for-tests"),
                        ("code", code),
                    ])
            } else if target.contains("google") {
                try daemon.post(
                    "/oauth2.googleapis.com/token",
                    form: [
                        ("client_id", "example.apps.googleusercontent.com"),
                        ("client_secret", "google-secret-for-tests"),
                        ("code", code), ("grant_type", "authorization_code"),
                        ("redirect_uri", "http://localhost:3000/callback"),
                    ])
            }
        }
    }
}

enum OrderTarget {
    /// Replaces the delay of a fault by the shortest one, since waiting finds nothing. A text that can't be a delay
    /// stays.
    static func withoutDelay(_ value: JSONValue) -> JSONValue {
        guard case .object(var order) = value, case .object(var effect)? = order["effect"],
            let delay = effect["delay"]?.string, delay.utf8.allSatisfy({ (0x30...0x7A).contains($0) })
        else { return value }
        effect["delay"] = "1ms"
        order["effect"] = .object(effect)
        return .object(order)
    }
}
