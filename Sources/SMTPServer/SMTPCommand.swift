/// A parsed command of an SMTP client. <https://www.rfc-editor.org/rfc/rfc5321#section-4.1.1>
package enum SMTPCommand: Sendable {
    case helo(String)
    case ehlo(String)
    case mail(MailPath)
    case rcpt(MailPath)
    case data
    case auth(mechanism: String, initial: String?)
    case startTLS
    case rset
    case noop
    case vrfy
    case help
    case quit
    /// A known SMTP command with malformed arguments. `form` shows the right syntax.
    case malformed(String, form: String)
    case notOffered(String)

    /// Whether a line that an SMTP client has sent looks like a part of an HTTP request.
    static func belongsToHTTP(_ line: String) -> Bool {
        let word = line.prefix { $0 != " " }.uppercased()
        return ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE", "PRI", "HOST:"]
            .contains(word)
    }

    /// Parses a line as an SMTP command. Returns `nil` if the line doesn't begin with the name of a known command.
    init?(_ line: String) {
        let verb = line.prefix { $0 != " " }.uppercased()
        let argument = line.dropFirst(verb.count).drop { $0 == " " }
        switch verb {
        case "HELO": self = .helo(String(argument))
        case "EHLO": self = .ehlo(String(argument))
        case "MAIL": self = SMTPCommand.path(argument, after: "FROM:", verb) { .mail($0) }
        case "RCPT": self = SMTPCommand.path(argument, after: "TO:", verb) { .rcpt($0) }
        case "AUTH":
            let words = argument.split(separator: " ")
            guard (1...2).contains(words.count) else {
                self = .malformed(verb, form: "AUTH mechanism")
                return
            }
            self = .auth(mechanism: words[0].uppercased(), initial: words.count > 1 ? String(words[1]) : nil)
        case "NOOP": self = .noop
        case "VRFY": self = .vrfy
        case "HELP": self = .help
        case "DATA", "RSET", "QUIT", "STARTTLS":
            guard argument.allSatisfy({ $0 == " " }) else {
                self = .malformed(verb, form: "\(verb) alone")
                return
            }
            self = verb == "DATA" ? .data : verb == "RSET" ? .rset : verb == "QUIT" ? .quit : .startTLS
        case "EXPN", "TURN", "ETRN", "BDAT", "SEND", "SOML", "SAML": self = .notOffered(verb)
        default: return nil
        }
    }

    private static func path(
        _ argument: Substring, after keyword: String, _ verb: String, _ make: (MailPath) -> SMTPCommand
    ) -> SMTPCommand {
        guard argument.prefix(keyword.count).uppercased() == keyword,
            let path = try? MailPath(parsing: argument.dropFirst(keyword.count))
        else { return .malformed(verb, form: "\(verb) \(keyword)<address>") }
        return make(path)
    }

    package var verb: String {
        switch self {
        case .helo: "HELO"
        case .ehlo: "EHLO"
        case .mail: "MAIL"
        case .rcpt: "RCPT"
        case .data: "DATA"
        case .auth: "AUTH"
        case .startTLS: "STARTTLS"
        case .rset: "RSET"
        case .noop: "NOOP"
        case .vrfy: "VRFY"
        case .help: "HELP"
        case .quit: "QUIT"
        case .malformed(let verb, _), .notOffered(let verb): verb
        }
    }

    /// Returns the line of an SMTP command for display, with secrets replaced by asterisks.
    func shown(_ line: String) -> String {
        switch self {
        case .auth(let mechanism, let initial): "AUTH \(mechanism)" + (initial == nil ? "" : " ********")
        case .malformed("AUTH", _): "AUTH ********"
        default: line
        }
    }
}
