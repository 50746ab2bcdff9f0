import Apple
import JOSE
import EmulatorCore
import Understudy

extension FuzzTarget {
    /// Apple's client secrets: a line for the header, a line for the claims, signed with the seed's key; or, where the first
    /// line is empty, the second as it is.
    static let clientSecrets = FuzzTarget("client-secrets") { bytes in
        let daemon = try FuzzDaemon.shared
        try daemon.reset()
        let lines = bytes.lines(2)
        let text =
            lines[0].isEmpty
            ? lines[1] : try daemon.signed(header: Array(lines[0].utf8), claims: Array(lines[1].utf8))
        let client = lines.count > 2 ? lines[2] : "com.example.web"
        _ = try Explanation(clientSecret: text, seeds: [.builtIn])
        _ = try Explanation(idToken: text, rawNonce: lines.last)
        var statuses: [Int] = []
        // The second time, it may come from the cache.
        for _ in 0..<2 {
            let answer = try daemon.post(
                "/appleid.apple.com/auth/token",
                form: [
                    ("client_id", client), ("client_secret", text), ("grant_type", "authorization_code"),
                    ("code", "none"),
                    ("redirect_uri", "https://example.com/callback"),
                ])
            statuses.append(answer?.status ?? 0)
            let error = answer?.json?["error"]?.string ?? ""
            // What comes after the client is taken is the code, which is unknown; a request over its budget isn't looked at.
            if let secret = try? ClientSecret(text), !["invalid_client", "invalid_request"].contains(error) {
                try require(secret.clientID == client, "a secret for another client was taken: \(text)")
                try require(secret.jws.algorithm == "ES256", "a secret with another algorithm was taken: \(text)")
                try require(
                    secret.jws.verify(with: daemon.clientKey, algorithm: .es256) == .valid,
                    "nobody signed this: \(text)")
            }
        }
        try require(statuses[0] == statuses[1], "the second answer is another: \(statuses)")
        try daemon.post(
            "/appleid.apple.com/auth/revoke", form: [("client_id", client), ("client_secret", text), ("token", "x")])
    }
}
