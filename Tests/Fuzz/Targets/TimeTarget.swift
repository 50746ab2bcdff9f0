import HTTPServer
import JOSE
import JSON
import EmulatorCore
import Recordings
import Time

extension FuzzTarget {
    /// Reads each line as a duration, a time or a number. The clock is moved by it and set to it, a request waits for
    /// it, and claims of tokens have it as their value.
    static let times = FuzzTarget("times", maximumLength: 512) { bytes in
        let daemon = try FuzzDaemon.shared
        try daemon.reset()
        for line in bytes.lines(1).prefix(6) {
            try checkTypes(line)
            let value = (try? JSONValue(parsing: line)) ?? .string(line)
            for order in ["advance", "set"] {
                try daemon.control("clock", ["freeze": true])
                try daemon.control("clock", .object(JSONObject([(order, value)])))
                try checkClock(daemon)
            }
            try daemon.send(
                "GET", "\(FuzzDaemon.control)/requests?limit=1&count=1&wait=\(PercentCoding.encode(Array(line.utf8)))")
            try checkTokens(daemon, value)
        }
    }

    /// Checks that a time or a duration, when it is written, reads the same.
    private static func checkTypes(_ text: String) throws(Finding) {
        if let span = TimeSpan(text) {
            try require(TimeSpan(span.description) == span, "another duration: \(text), then \(span)")
            try require(TimeSpan(text) == -(-span), "its opposite's opposite is another: \(text)")
            for instant in [Instant.first, .last] {
                let moved = instant + span - span
                try require(moved >= .first && moved <= .last, "a time that no calendar has: \(text)")
            }
        }
        if let instant = Instant(text) {
            try require(
                Instant(instant.text) == instant.wholeSecond, "another time: \(text), then \(instant.text)")
        }
    }

    /// Checks that the clock can be set to the time that it shows.
    private static func checkClock(_ daemon: FuzzDaemon) throws {
        guard let answer = try daemon.send("GET", "\(FuzzDaemon.control)/clock"), let now = answer.json?["now"]?.string
        else { throw Finding("no time") }
        let set = try daemon.control("clock", ["set": .string(now)])
        try require(set?.status == 200, "a time that the clock shows and doesn't take: \(now)")
    }

    private static func checkTokens(_ daemon: FuzzDaemon, _ value: JSONValue) throws {
        let clients = [
            ("apple", "com.example.app"), ("google", "example.apps.googleusercontent.com"), ("firebase", "demo-app"),
        ]
        for (provider, client) in clients {
            for claim in ["exp", "iat", "auth_time"] {
                let minted = try daemon.control(
                    "tokens",
                    [
                        "provider": .string(provider), "client": .string(client),
                        "claims": .object(JSONObject([(claim, value)])),
                    ])
                guard let token = minted?.json?["token"]?.string else { continue }
                try IDTokenTarget.present(token, of: provider, to: daemon)
            }
        }
        let now = try daemon.clientSecret()
        guard let secret = try? JWS(parsing: now) else { return }
        for claim in ["iat", "exp"] {
            var claims = secret.claims
            claims[claim] = value
            let text = try daemon.signed(
                header: JSONValue.object(secret.header).serialized(), claims: JSONValue.object(claims).serialized())
            try daemon.post(
                "/appleid.apple.com/auth/token",
                form: [
                    ("client_id", "com.example.web"), ("client_secret", text), ("grant_type", "refresh_token"),
                    ("refresh_token", "none"),
                ])
        }
    }
}
