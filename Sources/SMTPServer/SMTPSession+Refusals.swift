extension SMTPSession {
    static let tooLong = SMTPReply(552, "5.3.4", "a message has \(messageLimit) octets at most")

    /// The refusal of an address that isn't ASCII: <https://www.rfc-editor.org/rfc/rfc6531#section-3.5>
    static let notASCII = SMTPReply(553, "5.6.7", "an address beyond ASCII needs SMTPUTF8 with MAIL FROM")

    /// Returns the refusal of a MAIL command with these parameters, or `nil` if they are fine.
    static func refusal(of parameters: [MailPath.Parameter]) -> SMTPReply? {
        for parameter in parameters {
            switch parameter.name {
            case "SIZE":
                guard let size = parameter.value.flatMap({ UInt64($0) }) else {
                    return SMTPReply(501, "5.5.4", "SIZE is a number")
                }
                guard size <= UInt64(messageLimit) else { return tooLong }
            case "BODY":
                guard ["7BIT", "8BITMIME"].contains(parameter.value?.uppercased()) else {
                    return SMTPReply(501, "5.5.4", "BODY is 7BIT or 8BITMIME")
                }
            case "SMTPUTF8", "AUTH": break
            default: return SMTPReply(555, "5.5.4", "MAIL FROM has no parameter \(parameter.name) here")
            }
        }
        return nil
    }
}
