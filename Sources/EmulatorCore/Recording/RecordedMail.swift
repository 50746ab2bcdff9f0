/// Details of mail by SMTP, beside the conversation.
package struct RecordedMail: Sendable, Equatable {
    /// The envelope's sender, empty for a bounce; `nil` if the client sent none.
    package let sender: String?
    package let recipients: [String]
    /// The user name of AUTH.
    package let user: String?
    package let isSecure: Bool
    /// The IDs of the mails in the inbox.
    package let messages: [String]

    package init(sender: String?, recipients: [String], user: String?, isSecure: Bool, messages: [String]) {
        self.sender = sender
        self.recipients = recipients
        self.user = user
        self.isSecure = isSecure
        self.messages = messages
    }
}
