import EmulatorCore
import HTTPServer
import Recordings

/// A curl command that sends a recorded request to this daemon again. It works in any POSIX shell and in fish.
///
/// The request's texts are quoted: the shell runs no part of them, and none of their bytes controls the terminal into
/// which the command is pasted.
package struct CurlCommand: Sendable {
    package let text: String
    /// Sentences about what is missing from the curl command, or must be done before it runs.
    package let remarks: [String]

    /// The greatest number of bytes of a body that the curl command contains. A longer body is read from a file.
    package static let bodyLimit = 8 << 10
    private static let headerLimit = 8 << 10
    /// The request headers that the curl command leaves out: curl sets them itself, they belong to one connection, or a
    /// browser sends them about its own page.
    private static let leftOut: Set<String> = [
        "host", "content-length", "connection", "transfer-encoding", "expect", "keep-alive", "te", "upgrade",
        "accept-encoding", "upgrade-insecure-requests", "priority",
    ]

    init(_ text: String, _ remarks: [String]) {
        self.text = text
        self.remarks = remarks
    }

    /// Makes a curl command that repeats a recorded request. `base` is the URL of the request's host at this daemon,
    /// without a slash at the end. A body that is too long for the command is read from the file called `file`.
    package init(_ document: ExchangeDocument, base: String, file: String) {
        let exchange = document.known.exchange
        let request = exchange.request
        let query = request.query.map { "?\($0)" } ?? ""
        let url = base + document.shown(encoded: exchange.path + query)
        var remarks: [String] = []
        // With these options, brackets and braces aren't patterns, and dots in a path stay.
        var parts = ["curl -i --globoff --path-as-is \(CurlCommand.quoted(url))"]
        if request.method == "HEAD" {
            parts[0] = "curl --head --globoff --path-as-is \(CurlCommand.quoted(url))"
        } else if request.method != (request.body.isEmpty ? "GET" : "POST") {
            parts.append("-X \(CurlCommand.quoted(request.method))")
        }
        let (headers, isComplete) = CurlCommand.headers(document.shown(headers: request.headers))
        parts += headers
        if !isComplete { remarks.append("The request had more headers than are shown here.") }
        // curl adds these by itself, and sends every body as a form: a name with just a colon leaves a header out.
        for name in ["Accept", "User-Agent"] + (request.body.isEmpty ? [] : ["Content-Type"])
        where request.header(name) == nil { parts.append("-H '\(name):'") }
        let type = request.header("Content-Type")
        var source = ""
        switch document.shown(body: request.body, type: type) {
        case .withheld:
            if !request.body.isEmpty { remarks.append("The body isn't shown, because secrets can't be masked in it.") }
        case .text(let text): (source, parts) = CurlCommand.adding(Array(text.utf8), to: parts, file, &remarks)
        case .bytes(let bytes): (source, parts) = CurlCommand.adding(bytes, to: parts, file, &remarks)
        }
        if exchange.requestBodySize > request.body.count {
            remarks.append("Only the beginning of the body was recorded.")
        }
        if document.isMasked { remarks.append("Secrets are masked: insert the real secrets.") }
        text = source + parts.joined(separator: " \\\n  ")
        self.remarks = remarks
    }

    /// Returns curl's options for the request's headers. `isComplete` is `false` if the headers exceed the size limit.
    private static func headers(
        _ headers: [(name: String, value: String)]
    ) -> (options: [String], isComplete: Bool) {
        var options: [String] = []
        var size = 0
        for header in headers {
            let name = header.name.lowercased()
            guard !leftOut.contains(name), !name.hasPrefix("sec-"), !name.hasPrefix("proxy-"),
                // With an @ in front, curl would read the file with this name.
                !name.isEmpty, name.utf8.allSatisfy({ isLetterOrDigit($0) || "-_.".utf8.contains($0) })
            else { continue }
            // A header without a value ends with a semicolon.
            let option = "-H " + quoted(header.value.isEmpty ? "\(header.name);" : "\(header.name): \(header.value)")
            size += option.utf8.count
            guard size <= headerLimit else { return (options, false) }
            options.append(option)
        }
        return (options, true)
    }

    private static func adding(
        _ body: [UInt8], to parts: [String], _ file: String, _ remarks: inout [String]
    ) -> (source: String, parts: [String]) {
        guard !body.isEmpty else { return ("", parts) }
        guard body.count <= bodyLimit else {
            remarks.append("Save the request's body as \(file) before you run the command.")
            return ("", parts + ["--data-binary @\(file)"])
        }
        guard isPlain(body) else { return ("printf \(printed(body)) | ", parts + ["--data-binary @-"]) }
        return ("", parts + ["--data-raw \(quoted(body))"])
    }

    // MARK: - Quoting

    static func quoted(_ text: String) -> String { quoted(Array(text.utf8)) }

    /// Quotes a text for a shell. Plain text is put between single quotes. Any other text is written as escapes for
    /// `printf`. The quotes `$'…'` aren't used, because shells read them differently: text in one shell is a command in
    /// another.
    private static func quoted(_ bytes: [UInt8]) -> String {
        guard isPlain(bytes) else { return "\"$(printf \(printed(bytes)))\"" }
        return "'" + String(decoding: bytes, as: UTF8.self).replacing("'", with: "'\\''") + "'"
    }

    private static func isPlain(_ bytes: [UInt8]) -> Bool {
        bytes.allSatisfy { (0x20..<0x7F).contains($0) && $0 != UInt8(ascii: "\\") }
    }

    /// Returns a format for `printf` that prints `bytes`. It escapes `%`, `\`, a `-` at the beginning (which would be
    /// an option), and characters that shells interpret between double quotes, such as `!`.
    private static func printed(_ bytes: [UInt8]) -> String {
        var output = "'"
        for (place, byte) in bytes.enumerated() {
            let isSafe = isLetterOrDigit(byte) || " _.,:;=&{}[]/+@()~^#*?<>|-".utf8.contains(byte)
            if byte == 0x0A {
                output += "\\n"
            } else if isSafe, place > 0 || byte != UInt8(ascii: "-") {
                output.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                output += octal(byte)
            }
        }
        return output + "'"
    }

    private static func octal(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 8)
        return "\\" + String(repeating: "0", count: 3 - digits.count) + digits
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
    }
}

extension CurlCommand {
    /// The SMTP address at which a test world receives mail.
    package struct MailServer: Sendable {
        let host: String
        /// The SMTP port; `nil` if the daemon doesn't receive mail by SMTP.
        let port: UInt16?
        /// The test world's name, which the client must send as the user name of AUTH; `nil` if the SMTP port belongs
        /// to this world alone.
        let world: String?

        package init(host: String, port: UInt16?, world: String?) {
            self.host = host
            self.port = port
            self.world = world
        }
    }

    /// Makes a curl command that sends a received mail again with the same sender and recipients:
    /// <https://curl.se/docs/manpage.html#--mail-rcpt>. The content is read from a file.
    package init(mail: RecordedMail, server: MailServer, id: String) {
        let file = "\(mail.messages.first ?? id).eml"
        var parts = ["curl \(CurlCommand.quoted("smtp://\(server.host):\(server.port ?? 1025)"))"]
        parts.append("--mail-from \(CurlCommand.quoted(mail.sender ?? ""))")
        parts += mail.recipients.map { "--mail-rcpt \(CurlCommand.quoted($0))" }
        if let user = server.world ?? mail.user { parts.append("--user \(CurlCommand.quoted("\(user):any"))") }
        if mail.isSecure { parts.append("--ssl-reqd") }
        parts.append("-T \(file)")
        var remarks: [String] = []
        if server.port == nil { remarks.append("This daemon accepts no mail: start the daemon with --smtp-port 1025.") }
        if mail.recipients.isEmpty { remarks.append("The mail had no recipients: add them with --mail-rcpt.") }
        remarks.append(
            mail.messages.isEmpty
                ? "Save the mail as \(file) before you run the command. The recording has only the mail's header."
                : "Save the mail as \(file) before you run the command. The original mail is in the inbox.")
        self.init(parts.joined(separator: " \\\n  "), remarks)
    }
}
