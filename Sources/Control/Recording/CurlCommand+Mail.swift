import EmulatorCore

extension CurlCommand {
    /// The address at which a world takes mail.
    package struct MailServer: Sendable {
        let host: String
        /// The port; `nil` if no mail is taken by SMTP.
        let port: UInt16?
        /// The world's name, as the user of AUTH, if the port isn't the world's own.
        let world: String?

        package init(host: String, port: UInt16?, world: String?) {
            self.host = host
            self.port = port
            self.world = world
        }
    }

    /// Makes a command that sends a mail with the same envelope: <https://curl.se/docs/manpage.html#--mail-rcpt>. Its
    /// content is that in the inbox, read from a file.
    package init(mail: RecordedMail, server: MailServer, id: String) {
        let file = "\(mail.messages.first ?? id).eml"
        var parts = ["curl \(CurlCommand.quoted("smtp://\(server.host):\(server.port ?? 1025)"))"]
        parts.append("--mail-from \(CurlCommand.quoted(mail.sender ?? ""))")
        parts += mail.recipients.map { "--mail-rcpt \(CurlCommand.quoted($0))" }
        if let user = server.world ?? mail.user { parts.append("--user \(CurlCommand.quoted("\(user):any"))") }
        if mail.isSecure { parts.append("--ssl-reqd") }
        parts.append("-T \(file)")
        var remarks: [String] = []
        if server.port == nil { remarks.append("This daemon takes no mail now: start it with --smtp-port 1025.") }
        if mail.recipients.isEmpty { remarks.append("Nobody was named whom the mail is for: add --mail-rcpt.") }
        remarks.append(
            mail.messages.isEmpty
                ? "Save the mail as \(file) first: the recording has its header only."
                : "Save the mail as \(file) first: the inbox has it as it came.")
        self.init(parts.joined(separator: " \\\n  "), remarks)
    }
}
