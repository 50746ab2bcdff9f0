/// What verifying one signature of a mail came to, as <https://www.rfc-editor.org/rfc/rfc8601#section-2.7.1> words it.
package struct MailAuthentication: Codable, Sendable, Equatable {
    /// `dkim`.
    package let method: String
    /// `pass`, `fail`, `none`, `neutral`, `policy` or `permerror`.
    package let result: String
    /// Who signed, `header.d`.
    package let domain: String?
    /// Which key, `header.s`.
    package let selector: String?
    /// `header.a`, such as `rsa-sha256`.
    package let algorithm: String?
    /// Whether who signed is who the mail says that it is from: <https://www.rfc-editor.org/rfc/rfc7489#section-3.1>.
    package let isAligned: Bool
    /// Why it isn't `pass`.
    package let reason: String?

    package init(
        method: String, result: String, domain: String?, selector: String?, algorithm: String?, isAligned: Bool,
        reason: String?
    ) {
        self.method = method
        self.result = result
        self.domain = domain
        self.selector = selector
        self.algorithm = algorithm
        self.isAligned = isAligned
        self.reason = reason
    }
}
