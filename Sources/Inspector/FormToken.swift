import EmulatorCore
import HTTPServer
import JOSE

/// A secret in the inspector's forms that pages of other origins can't read, so that only the inspector's pages can
/// make changes. It is made when the daemon starts, and is the same for all worlds; replicas that share their worlds
/// share it, too.
/// <https://cheatsheetseries.owasp.org/cheatsheets/Cross-Site_Request_Forgery_Prevention_Cheat_Sheet.html>
package struct FormToken: Sendable {
    private static let name = "formToken"
    private var text: String

    /// Makes a token for this daemon.
    package init() {
        // This isn't the world's randomness: opening a page must not change the world's next code.
        var randomness = Randomness(seed: nil)
        text = Base64URL.encode(randomness.bytes(16))
    }

    /// Makes a token for this daemon, or takes that of all replicas if `archive` is shared.
    package init(_ archive: (any Archive)?) throws(StoreFailure) {
        self.init()
        guard let archive, archive.isShared else { return }
        let kept = try archive.text("formToken", orKeep: text)
        text = kept
    }

    /// An ID of the daemon's run, or of that of all replicas together, from which the token can't be computed.
    var run: String { String(Hex.encode(Digest.sha256(text)).prefix(12)) }

    /// The form's hidden field.
    var field: HTML { .hidden(FormToken.name, text) }

    func isCarried(by form: Form) -> Bool {
        constantTimeEquals(Array((form[FormToken.name] ?? "").utf8), Array(text.utf8))
    }
}
