import EmulatorCore
import HTTPServer
import JOSE

/// What the inspector's forms carry, so that only its own pages can change anything: pages of other origins can't read it.
/// It is made when the daemon starts, and the same for all worlds; replicas that share their worlds share it, too.
/// <https://cheatsheetseries.owasp.org/cheatsheets/Cross-Site_Request_Forgery_Prevention_Cheat_Sheet.html>
package struct FormToken: Sendable {
    private static let name = "formToken"
    private var text: String

    /// One of this daemon's own.
    package init() {
        // Not the world's randomness: opening a page must not change what the world's next code is.
        var randomness = Randomness(seed: nil)
        text = Base64URL.encode(randomness.bytes(16))
    }

    /// The same, unless `archive` is shared: then all replicas have the same one.
    package init(_ archive: (any Archive)?) throws(StoreFailure) {
        self.init()
        guard let archive, archive.isShared else { return }
        let kept = try archive.text("formToken", orKeep: text)
        text = kept
    }

    /// Names the daemon's run, or that of all replicas together, without telling the token.
    var run: String { String(Hex.encode(Digest.sha256(text)).prefix(12)) }

    /// The form's field.
    var field: HTML { .hidden(FormToken.name, text) }

    func isCarried(by form: Form) -> Bool {
        constantTimeEquals(Array((form[FormToken.name] ?? "").utf8), Array(text.utf8))
    }
}
