/// From whom a message is, and for whom, as the sender's server says.
package struct MailEnvelope: Sendable, Equatable {
    /// Empty for a bounce.
    package var sender = ""
    package var recipients: [String] = []
    package var isUTF8 = false
}
