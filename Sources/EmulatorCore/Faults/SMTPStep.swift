import JSON
import Time

/// The steps of SMTP at which a fault can apply: <https://www.rfc-editor.org/rfc/rfc5321#section-3>.
package enum SMTPStep: String, Sendable, CaseIterable {
    /// The step of SMTP at which the server sends its greeting.
    case connect = "CONNECT"
    /// The step of SMTP at which the client sends EHLO or HELO.
    case hello = "EHLO"
    case startTLS = "STARTTLS"
    case auth = "AUTH"
    case mail = "MAIL"
    case recipient = "RCPT"
    case data = "DATA"
    /// The step of SMTP at which the client has sent the whole mail.
    case message = "MESSAGE"

    package var knowsSender: Bool { [.mail, .recipient, .data, .message].contains(self) }

    package var knowsRecipient: Bool { [.recipient, .data, .message].contains(self) }

    /// A list of the effects that a fault can have at this step of SMTP, for error messages and the list of endpoints.
    package var fitting: String {
        (["reply", "delay", "disconnect"] + (self == .message ? ["lose"] : [])).joined(separator: ", ")
    }

    /// Returns the name of a member of `effect` with which a fault can't take effect at this step of SMTP. Returns
    /// `nil` when there is no such member.
    func misfit(_ effect: FaultEffect) -> String? {
        if effect.answer != nil { return "status" }
        if effect.error != nil { return "error" }
        if effect.token != nil { return "token" }
        if !effect.response.isEmpty { return "response" }
        if effect.rotation != nil { return "rotateKeys" }
        if effect.keySet != nil { return "jwks" }
        if effect.shufflesMembers { return "shuffle" }
        if effect.isMalformed { return "malformedJSON" }
        if effect.state != nil { return "state" }
        if effect.issuer != nil { return "iss" }
        if effect.isCodeUsed { return "code" }
        if effect.disconnect == .midBody { return "disconnect" }
        if self == .message { return nil }
        return effect.isLost ? "lose" : nil
    }
}

extension FaultEffect {
    /// An SMTP reply that a fault sends in place of the mail server's own.
    package struct SMTPAnswer: SchemaObject {
        package let code: Int
        package let status: String?
        package let text: String

        package init(_ fields: inout Fields) {
            code = fields("code", .integer(400...599), "4xx for now, 5xx for good.")
            status = fields.optional(
                "status", .text(.enhancedStatus), "The enhanced SMTP status code, such as \"4.2.1\".")
            text = fields("text", .text(.smtpLine), default: "ordered", "The reply's text.")
        }
    }
}

extension TextRule {
    /// The rule for enhanced status codes of SMTP: <https://www.rfc-editor.org/rfc/rfc3463#section-2>
    fileprivate static let enhancedStatus = TextRule(
        about: "an enhanced SMTP status code such as \"5.1.1\"", pattern: "^[245]\\.[0-9]{1,3}\\.[0-9]{1,3}$"
    ) { text in
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 3 && ["2", "4", "5"].contains(parts[0])
            && parts.allSatisfy { (1...3).contains($0.utf8.count) && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }
    }

    /// The rule for the text of an SMTP reply. A reply has one line of at most 512 octets:
    /// <https://www.rfc-editor.org/rfc/rfc5321#section-4.5.3.1.5>.
    fileprivate static let smtpLine = TextRule(
        about: "a text of at most 480 bytes, without control characters", pattern: "^[^\\x00-\\x1f\\x7f]{0,480}$"
    ) { $0.utf8.count <= 480 && $0.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }
}
