import EmulatorCore
import HTTPServer
import OAuth

// The origins of pages that may use Google's script for a client:
// https://developers.google.com/identity/protocols/oauth2/javascript-implicit-flow#origin-validation. Names that Google
// refuses, such as those of containers, are accepted here.

extension JavaScriptOrigin {
    /// Reads the origin in a redirect URI such as `storagerelay://http/localhost:3000?id=auth1`: the page whose pop-up
    /// it is. Google doesn't document such URIs; they are in public reports:
    /// <https://github.com/google/google-api-javascript-client/issues/629>.
    init?(relay uri: String) {
        guard uri.hasPrefix("storagerelay://") else { return nil }
        let rest = uri.dropFirst("storagerelay://".count)
        let address = Substring(rest.utf8.prefix { $0 != UInt8(ascii: "?") })
        let parts = address.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        self.init("\(parts[0])://\(parts[1])")
    }
}

extension GoogleClient {
    /// Whether pages of this origin may use Google's script for this client.
    func takes(_ origin: JavaScriptOrigin) -> Bool {
        type == .web && origin.isAmong(javaScriptOrigins)
    }

    func check(_ origin: JavaScriptOrigin) throws(GoogleError) {
        guard !takes(origin) else { return }
        throw GoogleClient.originMismatch(
            origin.text, expected: RegisteredRedirectURI.alternatives(javaScriptOrigins),
            type == .web
                ? "register it in javaScriptOrigins of \"\(id)\" in the seed: scheme, host and port, without a path"
                : "a client of type \(type.rawValue) has no JavaScript origins: use one of type web")
    }

    /// Returns the origin in a request of the script.
    func origin(_ form: Form) throws(GoogleError) -> JavaScriptOrigin {
        let text = form["origin"] ?? ""
        guard !text.isEmpty else { throw .missing("origin") }
        guard let origin = JavaScriptOrigin(text) else {
            throw GoogleClient.originMismatch(text, expected: nil, "an origin is a scheme, a host and a port")
        }
        try check(origin)
        return origin
    }

    /// Returns the error of an origin. The words are those of public reports:
    /// <https://github.com/kanikaa-3018/contest_onlinejudge/pull/25>.
    private static func originMismatch(_ origin: String, expected: String?, _ advice: String) -> GoogleError {
        GoogleError(
            "origin_mismatch",
            "You can't sign in to this app because it doesn't comply with Google's OAuth 2.0 policy. If you're the app developer, "
                + "register the JavaScript origin in the Google Cloud Console.",
            Diagnosis(received: "origin \(Diagnosis.quote(origin))", expected: expected, advice))
    }
}
