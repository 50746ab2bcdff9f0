/// The sender and the recipients of a message, as the client gives them.
package struct MailEnvelope: Sendable, Equatable {
    /// The sender's address; empty for a bounce.
    package var sender = ""
    package var recipients: [String] = []
    package var isUTF8 = false
}
