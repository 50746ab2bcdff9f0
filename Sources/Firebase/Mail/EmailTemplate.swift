import EmulatorCore

/// The template of a mail that a project sends, with placeholders such as `%LINK%`.
/// <https://support.google.com/firebase/answer/7000714>,
/// <https://cloud.google.com/identity-platform/docs/reference/rest/v2/Config#EmailTemplate>
///
/// The subjects are those of a new project, as `projects.getConfig` returns them. The subjects of mails with sign-in
/// links, and of mails that verify a new address, aren't documented, because no project can change them. The texts of
/// the mails are Understudy's own.
struct EmailTemplate: Sendable {
    enum Body: Sendable {
        /// The paragraphs of Understudy's own text for a mail, which is used until an administrator changes the text.
        /// The paragraph `%LINK%` contains only the link.
        case paragraphs([String])
        case plainText(String)
        case html(String)

        /// The template's body as the project's configuration shows it, with placeholders such as `%LINK%`.
        var source: String {
            switch self {
            case .paragraphs(let paragraphs):
                paragraphs.map { paragraph in
                    paragraph == "%LINK%" ? "<p><a href='%LINK%'>%LINK%</a></p>" : "<p>\(HTML.escape(paragraph))</p>"
                }.joined(separator: "\n")
            case .plainText(let text), .html(let text): text
            }
        }
    }

    var subject: String
    var body: Body
    var senderLocalPart = "noreply"
    var senderDisplayName: String?
    /// The address for the mail's header field Reply-To. If it has no `@`, as in a new project, the mail has no such
    /// field.
    var replyTo = "noreply"

    /// Makes the template that a new project has for this kind of mail.
    init(_ kind: OutOfBandCode.Kind) {
        subject = EmailTemplate.subject(kind)
        body = .paragraphs(EmailTemplate.greeting(kind) + EmailTemplate.content(kind) + ["The %APP_NAME% team"])
    }

    private static func subject(_ kind: OutOfBandCode.Kind) -> String {
        switch kind {
        case .passwordReset: "Reset your password for %APP_NAME%"
        case .verifyEmail: "Verify your email for %APP_NAME%"
        case .emailSignIn: "Sign in to %APP_NAME%"
        case .verifyAndChangeEmail: "Verify your new email for %APP_NAME%"
        case .recoverEmail: "Your sign-in email was changed for %APP_NAME%"
        case .revertSecondFactorAddition: "You've added 2 step verification to your %APP_NAME% account."
        }
    }

    /// Returns the salutation of a mail whose text no administrator has changed. Mails with password resets and sign-in
    /// links have no name in the salutation.
    private static func greeting(_ kind: OutOfBandCode.Kind) -> [String] {
        [kind == .passwordReset || kind == .emailSignIn ? "Hello," : "Hello %DISPLAY_NAME%,"]
    }

    private static func content(_ kind: OutOfBandCode.Kind) -> [String] {
        switch kind {
        case .passwordReset:
            [
                "Here you can choose a new password for %EMAIL% at %APP_NAME%:", "%LINK%",
                "It wasn't you who wanted one? Then your password stays as it is.",
            ]
        case .verifyEmail:
            [
                "Please confirm that %EMAIL% is your address:", "%LINK%",
                "You know nothing of this? Then there is nothing to do.",
            ]
        case .emailSignIn:
            [
                "With this link you sign in to %APP_NAME% as %EMAIL%:", "%LINK%",
                "It wasn't you who wanted to sign in? Nobody does until the link is opened.",
            ]
        case .verifyAndChangeEmail:
            [
                "From now on you would like to sign in to %APP_NAME% with %NEW_EMAIL%. Please confirm that it is yours:",
                "%LINK%", "You know nothing of this? Then there is nothing to do.",
            ]
        case .recoverEmail:
            [
                "You sign in to %APP_NAME% with %NEW_EMAIL% now.",
                "It wasn't you who changed this? Take your address back:",
                "%LINK%",
            ]
        case .revertSecondFactorAddition:
            [
                "Whoever signs in to your account at %APP_NAME% now has to show a second factor: %SECOND_FACTOR%.",
                "It wasn't you who added it? Remove it:", "%LINK%",
            ]
        }
    }
}

/// The values that replace the placeholders in a mail's template.
struct Placeholders: Sendable {
    /// The values that replace placeholders. A key is the name of a placeholder without its percent signs, such as
    /// `APP_NAME`.
    let values: [String: String]

    /// The greatest size of a filled-in template in bytes, approximately. It bounds a template that repeats a long
    /// link.
    private static let limit = 256 << 10

    /// Replaces the placeholders in a template. `write` escapes each value, for HTML for example.
    func fill(_ template: String, write: (String) -> String = { $0 }) -> String {
        var output = ""
        var rest = template[...]
        while let mark = rest.firstIndex(of: "%"), output.utf8.count < Placeholders.limit {
            output += rest[..<mark]
            rest = rest[mark...]
            let name = rest.dropFirst().prefix { $0 == "_" || ("A"..."Z").contains($0) }
            guard let value = values[String(name)], name.endIndex < rest.endIndex, rest[name.endIndex] == "%" else {
                output += "%"
                rest = rest.dropFirst()
                continue
            }
            // A user without a name gets "Hello," from "Hello %DISPLAY_NAME%,".
            if value.isEmpty, output.utf8.last == UInt8(ascii: " ") { output.unicodeScalars.removeLast() }
            output += write(value)
            rest = rest[name.endIndex...].dropFirst()
        }
        return output.utf8.count < Placeholders.limit ? output + rest : output
    }

    // MARK: - A mail's content

    func text(_ body: EmailTemplate.Body) -> String {
        switch body {
        case .paragraphs(let paragraphs): paragraphs.map { fill($0) }.joined(separator: "\n\n") + "\n"
        case .plainText(let template): fill(template)
        case .html(let template): PlainText.of(html: fill(template) { HTML.escape($0) })
        }
    }

    /// Returns the HTML of a mail; `nil` if the template is plain text.
    func html(_ body: EmailTemplate.Body, title: String) -> String? {
        switch body {
        case .paragraphs(let paragraphs): document(paragraphs, title: title)
        case .plainText: nil
        case .html(let template): fill(template) { HTML.escape($0) }
        }
    }

    private func document(_ paragraphs: [String], title: String) -> String {
        let content = paragraphs.map { paragraph -> HTML in
            guard paragraph == "%LINK%", let link = values["LINK"] else { return .tag("p", [], fill(paragraph)) }
            return .tag("p", [], .tag("a", [("href", link)], link))
        }
        return HTML.tag(
            "html", [("lang", "en")],
            .tag(
                "head", [], .tag("meta", [("charset", "utf-8")]), .tag("title", [], title),
                .style(
                    """
                    :root{color-scheme:light}body{margin:0;padding:1.5rem;background:#fff;color:#1a1d23;\
                    font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}p{margin:0 0 1rem}a{color:#2b4ac2}
                    """)),
            .element("body", attributes: [], children: content)
        ).document
    }
}

/// Makes the plain text of a mail that has only HTML. Only the HTML elements that mails use are handled.
enum PlainText {
    /// The HTML elements that become line breaks when a mail's HTML is converted to plain text.
    private static let blocks: Set<String> = [
        "p", "div", "br", "tr", "li", "h1", "h2", "h3", "h4", "table", "ul", "ol", "blockquote", "hr",
    ]
    /// The HTML elements whose content is left out when a mail's HTML is converted to plain text.
    private static let hidden: Set<String> = ["head", "style", "script", "title", "template"]
    private static let entities = [
        "amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'", "#39": "'", "#10": "\n", "#13": "", "nbsp": " ",
        "rsquo": "’", "copy": "©", "mdash": "—", "ndash": "–",
    ]

    /// Returns the plain text of HTML. The time is proportional to the length.
    static func of(html: String) -> String {
        var output = ""
        /// The HTML element whose content is being left out; `nil` outside such an element.
        var skipped: Substring?
        var rest = Substring(html)
        while let character = rest.first {
            if character == "<" {
                let tag = rest.dropFirst().prefix { $0 != ">" }
                rest = rest[tag.endIndex...].dropFirst()
                let isEnd = tag.first == "/"
                let name = (isEnd ? tag.dropFirst() : tag).prefix { $0.isASCII && ($0.isLetter || $0.isNumber) }
                    .lowercased()
                if let element = skipped {
                    if isEnd, name == element { skipped = nil }
                } else if !isEnd, hidden.contains(name) {
                    skipped = Substring(name)
                } else if blocks.contains(name), !isEnd || name != "br" {
                    endLine(&output)
                }
                continue
            }
            let run = character == "&" ? entity(&rest) : text(&rest)
            if skipped == nil { append(run, to: &output) }
        }
        while output.unicodeScalars.last?.properties.isWhitespace ?? false { output.unicodeScalars.removeLast() }
        return output + "\n"
    }

    private static func text(_ rest: inout Substring) -> String {
        let run = rest.prefix { $0 != "<" && $0 != "&" }
        rest = rest[run.endIndex...]
        return String(run)
    }

    private static func entity(_ rest: inout Substring) -> String {
        let name = rest.dropFirst().prefix(8).prefix { $0 != ";" }
        guard let value = entities[String(name)], name.endIndex < rest.endIndex, rest[name.endIndex] == ";" else {
            rest = rest.dropFirst()
            return "&"
        }
        rest = rest[name.endIndex...].dropFirst()
        return value
    }

    /// Appends a text to the output, with each run of white space replaced by one space.
    private static func append(_ run: String, to output: inout String) {
        for character in run {
            guard character.isWhitespace else {
                output.append(character)
                continue
            }
            if let last = output.unicodeScalars.last, !last.properties.isWhitespace { output.append(" ") }
        }
    }

    private static func endLine(_ output: inout String) {
        if output.utf8.last == UInt8(ascii: " ") { output.unicodeScalars.removeLast() }
        guard !output.isEmpty, !output.utf8.suffix(2).elementsEqual("\n\n".utf8) else { return }
        output.append("\n")
    }
}
