import HTTPServer
import JOSE

/// The secret token that clients must send to control the daemon, if the daemon was started with one. Clients send the
/// token as a bearer token. Browsers send a cookie with a value derived from the token.
/// <https://www.rfc-editor.org/rfc/rfc6750#section-2.1>
package struct ControlToken: Sendable {
    /// The rule for a control token's length and characters, as a text for people. Such a token needs no escaping in a
    /// header, and can't be guessed in a few tries.
    package static let rule = "16 to 256 letters, digits, \"-\", \".\", \"_\", \"~\", \"+\", \"/\" and \"=\""
    private static let lengths = 16...256
    /// The name of the cookie by which a browser shows that it knows the control token.
    package static let cookieName = "understudy-control"
    private static let scheme = "bearer"

    /// The SHA-256 of the control token. All digests have one length, so comparing them takes the same time for every
    /// token.
    private let digest: [UInt8]
    /// The value of the cookie that stands for the control token. It is derived from the token without revealing it, so
    /// all daemons with the same token accept it, even after a restart.
    package let cookie: String
    private let cookieDigest: [UInt8]

    /// Makes a control token of a text. Returns `nil` for a text that breaks the rule for the token's length and
    /// characters.
    package init?(_ text: String) {
        guard ControlToken.lengths.contains(text.utf8.count), text.utf8.allSatisfy(ControlToken.isAllowed) else {
            return nil
        }
        digest = Digest.sha256(text)
        cookie = Base64URL.encode(Digest.sha256("understudy control cookie \(text)"))
        cookieDigest = Digest.sha256(cookie)
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte) || "-._~+/=".utf8.contains(byte)
    }

    package func matches(_ text: String) -> Bool { constantTimeEquals(Digest.sha256(text), digest) }

    /// Returns whether the request carries the control token as a bearer token, or the cookie derived from the token.
    package func isShown(by request: Request) -> Bool {
        if let shown = ControlToken.bearer(of: request), matches(shown) { return true }
        return request.headers.contains { header in
            header.name.equalsIgnoringASCIICase("Cookie")
                && Cookies(header.value).pairs.contains { pair in
                    pair.name.elementsEqual(ControlToken.cookieName.utf8)
                        && constantTimeEquals(Digest.sha256(String(Substring(pair.value))), cookieDigest)
                }
        }
    }

    /// Returns the bearer token in a request's header `Authorization`, whether or not it is the control token; `nil` if
    /// the request has no bearer token.
    package static func bearer(of request: Request) -> String? {
        guard let value = request.header("Authorization"), let space = value.firstIndex(of: " "),
            value[..<space].lowercased() == scheme
        else { return nil }
        return String(value[space...].drop { $0 == " " })
    }

    /// Returns a copy of the request for the recording. The copy has a mask in place of the control token, and in place
    /// of the value of the cookie `cookieName`.
    func withheld(from request: Request) -> Request {
        guard request.headers.contains(where: { isSecret($0) }) else { return request }
        var request = request
        for place in request.headers.indices where isSecret(request.headers[place]) {
            let header = request.headers[place]
            request.headers[place].value =
                header.name.equalsIgnoringASCIICase("Cookie")
                ? Cookies(header.value).pairs.map { pair in
                    let isOurs = pair.name.elementsEqual(ControlToken.cookieName.utf8)
                    return Substring(pair.name) + "=" + (isOurs ? "masked-\(pair.value.count)" : Substring(pair.value))
                }.joined(separator: "; ")
                : "Bearer masked-\(max(0, header.value.utf8.count - ControlToken.scheme.utf8.count - 1))"
        }
        return request
    }

    private func isSecret(_ header: (name: String, value: String)) -> Bool {
        if header.name.equalsIgnoringASCIICase("Cookie") {
            return Cookies(header.value).pairs.contains { $0.name.elementsEqual(ControlToken.cookieName.utf8) }
        }
        guard header.name.equalsIgnoringASCIICase("Authorization") else { return false }
        let shown = header.value.split(separator: " ", maxSplits: 1)
        return shown.count == 2 && matches(String(shown[1].drop { $0 == " " }))
    }
}
