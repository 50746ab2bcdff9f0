import Apple
import JOSE
import EmulatorCore
import Understudy

extension FuzzTarget {
    /// Sends client secrets to Apple. The input's first line is the header and the second the claims, which are signed
    /// with the seed's key. If the first line is empty, the second is the whole client secret.
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
        // The second answer may use the cached check of the client secret.
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
            // If the client secret is accepted, the error is about the unknown code. A request that is over its budget
            // is refused before its client secret is checked.
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
