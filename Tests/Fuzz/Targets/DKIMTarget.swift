import EmulatorCore
import Time
import Understudy

extension FuzzTarget {
    private static let seed = Result {
        try SeedInput.load([
            .json(
                """
                {"mail":{"dkim":[
                  {"domain":"football.example.com","selector":"brisbane",
                   "publicKey":"v=DKIM1; k=ed25519; p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="},
                  {"domain":"football.example.com","selector":"test",
                   "publicKey":"v=DKIM1; k=rsa; p=MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDkHlOQoBTzWRiGs5V6NpP3idY6Wk08a5qhdR6wy5bdOKb2jLQiY/J16JYi0Qvx/byYzCNb3W91y3FutACDfzwQ/BC/e/8uBsCR+yz1Lxj+PL6lHvqMKrM3rG4hstT5QjvHO9PzoxZyVYLzBfO2EeC3Ip3G+2kryOTIKT+l/K4w3QIDAQAB"}]}}
                """)
        ])
    }

    /// Signed mails, and keys as the DNS has them.
    static let dkim = FuzzTarget("dkim") { bytes in
        let verifier = DKIMVerifier(try seed.get(), at: .first)
        let results = verifier.verify(bytes)
        try require(results.count <= 6, "\(results.count) results")
        try require(
            results.allSatisfy { ($0.result == "pass") == ($0.reason == nil) }, "a result without a reason: \(results)")
        guard results.contains(where: { $0.result == "pass" }) else {
            if let text = String(validating: bytes, as: UTF8.self) { _ = DKIMVerifier.fault(ofKey: text) }
            return
        }
        // The specification's mails sign all of the body.
        let longer = verifier.verify(bytes + [0x78, 0x0D, 0x0A])
        try require(
            !longer.contains { $0.result == "pass" }, "what isn't signed passes: \(longer)")
    }
}
