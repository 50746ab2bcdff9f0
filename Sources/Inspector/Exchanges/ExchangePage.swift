import Control
import EmulatorCore
import HTTPServer
import Recordings
import Time

// The page of an exchange: at the top what happened, then request and response, the tokens in them, and the request as
// a command.

extension Inspector {
    func exchangePage(_ exchange: Exchange, _ found: FoundExchange) -> Response {
        let document = ExchangeDocument(found.known, masksSecrets: control.masksSecrets)
        let messages = HTML.tag(
            "div", [("class", "exchange-messages")],
            MessageColumn(document: document, page: exchange, ofRequest: true).html,
            MessageColumn(document: document, page: exchange, ofRequest: false).html)
        return page(
            exchange, .signIns, title: Inspector.exchangeTitle(document),
            lead: [.tag("span", [("class", "row")], .group(Inspector.badges(document)))],
            (document.known.exchange.mail == nil ? [wayThrough(exchange, found)] : [])
                + troubles(exchange, found, document)
                + [summary(exchange, found), actions(exchange, found), messages]
                + tokenCards(exchange, found) + [command(exchange, document)])
    }

    /// Returns the page's title: `POST appleid.apple.com/auth/token`
    static func exchangeTitle(_ document: ExchangeDocument) -> String { ShownText.plain(document.name, limit: 200) }

    static func badges(_ document: ExchangeDocument) -> [HTML] {
        let exchange = document.known.exchange
        let status = exchange.response.status
        let isBad = status >= 400 || exchange.diagnosis != nil && exchange.fault == nil
        var badges: [HTML] = []
        // The client hasn't seen an answer that was dropped.
        if case .dropped = exchange.response.delivery {
        } else {
            badges.append(.tag("span", [("class", "badge \(isBad ? "bad" : "good")")], "\(status)"))
        }
        if exchange.fault != nil { badges.append(.tag("span", [("class", "badge warn")], "ordered")) }
        switch exchange.response.delivery {
        case .dropped: badges.append(.tag("span", [("class", "badge bad")], "closed without an answer"))
        case .cut: badges.append(.tag("span", [("class", "badge bad")], "disconnected in the body"))
        case .whole, .stream: break
        }
        return badges
    }

    // MARK: - Links to the other steps

    private func wayThrough(_ exchange: Exchange, _ found: FoundExchange) -> HTML {
        let place = found.flow.firstIndex { $0.exchange.id == found.known.exchange.id } ?? 0
        let before = place > 0 ? found.flow[place - 1].exchange : nil
        let after = place + 1 < found.flow.count ? found.flow[place + 1].exchange : nil
        let count = found.flow.count
        let whole = count > 1 ? "Request \(place + 1) of \(count) of the sign-in" : "The sign-in that it belongs to"
        return .tag(
            "nav", [("class", "exchange-way"), ("aria-label", "The sign-in")],
            .link(whole, to: exchange.inspector("flows/\(found.known.flow)")),
            before.map { step(exchange, $0, "Previous: ", "prev") } ?? .group([]),
            after.map { step(exchange, $0, "Next: ", "next") } ?? .group([]))
    }

    private func step(_ exchange: Exchange, _ to: RecordedExchange, _ word: String, _ relation: String) -> HTML {
        let path = ExchangeDocument(
            KnownExchange(exchange: to, flow: to.id, client: nil), masksSecrets: control.masksSecrets
        ).shown(encoded: to.path)
        return .tag(
            "a", [("href", exchange.inspector("requests/\(to.id)")), ("rel", relation)], .text(word),
            ShownText.isolated("\(to.request.method) \(path)", limit: 80))
    }

    // MARK: - Failures

    private func troubles(_ exchange: Exchange, _ found: FoundExchange, _ document: ExchangeDocument) -> [HTML] {
        let recorded = found.known.exchange
        var notes: [HTML] = []
        if let diagnosis = document.diagnosis {
            let help = help(for: recorded).map { help in
                HTML.tag(
                    "p", [], .link("How to mend it: \(help.title)", to: exchange.inspector(help.path)))
            }
            notes.append(
                .tag(
                    "div", [("class", "note \(recorded.fault == nil ? "bad" : "warn")"), ("id", "diagnosis")],
                    .tag(
                        "p", [], .tag("strong", [], recorded.fault == nil ? "Why it was refused" : "What was ordered")),
                    reasonParts(diagnosis, exchange), help ?? .group([])))
        } else if let fault = recorded.fault {
            notes.append(
                .tag(
                    "p", [("class", "note warn")], .tag("strong", [], "What was ordered: "),
                    ShownText.isolated(fault, limit: 2_000)))
        }
        switch recorded.response.delivery {
        case .dropped:
            notes.append(
                .tag(
                    "p", [("class", "note warn")],
                    "The connection was closed before the header of this answer: the client saw none of it."))
        case .cut:
            notes.append(
                .tag(
                    "p", [("class", "note warn")],
                    "The connection was closed in the middle of the body: the client saw half of it."))
        case .whole, .stream: break
        }
        if document.isWithheld {
            notes.append(
                .tag(
                    "p", [("class", "note warn")],
                    "Bodies and tokens aren't shown: secrets are masked, and couldn't be found in this exchange."))
        }
        return notes
            + found.advice.map { advice in
                .tag(
                    "p", [("class", advice.weight == .problem ? "note bad" : "note")],
                    ShownText.isolated(advice.text, limit: 2_000))
            }
    }

    // MARK: - Summary

    private func summary(_ exchange: Exchange, _ found: FoundExchange) -> HTML {
        let recorded = found.known.exchange
        var facts: [(String, HTML)] = [
            (
                "When",
                .group([
                    .tag("time", [("datetime", recorded.time.text)], recorded.time.text),
                    .tag("span", [("class", "soft")], " by the world's clock"),
                ])
            ),
            ("Took", .text(Inspector.duration(recorded.duration))),
            ("Request", .tag("code", [], recorded.id)), ("World", ShownText.isolated(recorded.world, limit: 2_000)),
        ]
        if let mail = recorded.mail { facts += MailFacts.rows(mail, exchange) }
        if let client = found.known.client { facts.append(("Client", ShownText.code(client, limit: 300))) }
        if let provider = provider(of: recorded) {
            facts.append(("Answered by", .text(ValueReader.title(of: provider))))
        }
        if let parent = found.parent { facts.append(("Made for", link(exchange, parent.exchange))) }
        if !found.children.isEmpty {
            let links = found.children.prefix(20).flatMap { [link(exchange, $0.exchange), HTML.tag("br")] }.dropLast()
            facts.append(("Made for it", .group(Array(links))))
        }
        return .tag(
            "div", [("class", "card")],
            .element(
                "dl", attributes: [(name: "class", value: "exchange-facts")],
                children: facts.map { .tag("div", [], .tag("dt", [], $0.0), .tag("dd", [], $0.1)) }))
    }

    private func link(_ exchange: Exchange, _ to: RecordedExchange) -> HTML {
        let document = ExchangeDocument(
            KnownExchange(exchange: to, flow: to.id, client: nil), masksSecrets: control.masksSecrets)
        return .tag(
            "a", [("href", exchange.inspector("requests/\(to.id)"))],
            ShownText.isolated("\(to.id): \(document.name), \(to.response.status)", limit: 200))
    }

    /// Describes a duration in microseconds.
    static func duration(_ microseconds: Int64) -> String {
        switch microseconds {
        case ..<1_000: "\(microseconds) µs"
        case ..<1_000_000: "\(microseconds / 1_000).\(microseconds % 1_000 / 100) ms"
        default: "\(microseconds / 1_000_000).\(microseconds % 1_000_000 / 100_000) s"
        }
    }

    // MARK: - Actions

    private func actions(_ exchange: Exchange, _ found: FoundExchange) -> HTML {
        let (id, flow) = (found.known.exchange.id, found.known.flow)
        let api = "\(exchange.address.ownBase)\(ControlAPI.root)/requests"
        // A HAR file has only HTTP exchanges.
        let isMail = found.known.exchange.mail != nil
        let files: [HTML] =
            (isMail
                ? []
                : [
                    Inspector.file("Save as HAR", "\(api)/\(id)?format=har", "\(id).har"),
                    Inspector.file("Save the sign-in as HAR", "\(api)?flow=\(flow)&format=har", "\(flow)-flow.har"),
                ]) + [.tag("a", [("class", "button quiet small"), ("href", "\(api)/\(id)")], "JSON")]
        return .tag(
            "div", [("class", "exchange-actions")], .tag("div", [("class", "row")], .group(files)),
            comparing(exchange, found))
    }

    private static func file(_ text: String, _ url: String, _ name: String) -> HTML {
        .tag("a", [("class", "button quiet small"), ("href", url), ("download", name)], text)
    }

    /// Returns a form that asks for the exchange with which this one is compared.
    func comparing(_ exchange: Exchange, _ found: FoundExchange, with other: String? = nil) -> HTML {
        guard !found.similar.isEmpty else { return .group([]) }
        let worked = found.similar.first { $0.exchange.diagnosis == nil && $0.exchange.response.status < 400 }
        let chosen = other ?? (worked ?? found.similar[0]).exchange.id
        let options = found.similar.map { similar -> HTML in
            let exchange = similar.exchange
            let remark = exchange.id == worked?.exchange.id ? "the last that worked, " : ""
            let words = "\(exchange.id): \(remark)\(exchange.response.status) at \(exchange.time.text)"
            let isChosen = exchange.id == chosen
            return .tag("option", [("value", exchange.id)] + (isChosen ? [("selected", nil)] : []), words)
        }
        return .tag(
            "form",
            [
                ("method", "get"), ("action", exchange.inspector("requests/\(found.known.exchange.id)")),
                ("class", "row"),
            ],
            .tag("label", [("for", "with")], "Compare with"),
            .element(
                "select", attributes: [(name: "id", value: "with"), (name: "name", value: "with")], children: options),
            .tag("button", [("class", "quiet small")], "Compare"))
    }

    // MARK: - As a command

    /// Returns the address at which the exchange's world takes mail.
    private func mailServer(_ exchange: Exchange) -> CurlCommand.MailServer {
        let world = exchange.world
        let own = control.mailPorts.fixed(world.name) ?? world.port(.smtp)
        let port = own ?? control.mailPorts.main
        // At the daemon's own port, the mail must name the world.
        let isNamed = own != nil || world.name == control.worlds.unnamed
        return CurlCommand.MailServer(
            host: exchange.address.daemonName, port: port, world: isNamed ? nil : world.name)
    }

    private func command(_ exchange: Exchange, _ document: ExchangeDocument) -> HTML {
        let recorded = document.known.exchange
        let base = recorded.host.map { exchange.address.base(of: $0) } ?? exchange.address.ownBase
        let command =
            recorded.mail.map { CurlCommand(mail: $0, server: mailServer(exchange), id: recorded.id) }
            ?? CurlCommand(document, base: base, file: Inspector.bodyName(recorded.id, ofRequest: true))
        return .tag(
            "section", [("class", "card exchange-command"), ("aria-labelledby", "command-title")],
            .tag(
                "div", [("class", "row")], .tag("h2", [("id", "command-title")], "Send it again"),
                .tag(
                    "button",
                    [("type", "button"), ("class", "quiet small needs-script"), ("data-copy-from", "command")],
                    "Copy as curl")),
            .group(command.remarks.map { .tag("p", [("class", "soft small")], $0) }),
            .tag(
                "pre", [("id", "command"), ("tabindex", "0"), ("aria-label", "The request as a command")],
                ShownText.source(command.text)))
    }
}

/// The part of an exchange's page about mail by SMTP.
enum MailFacts {
    private static let limit = 100

    /// Returns the sender and the recipients on which server and client agreed.
    static func envelope(_ mail: RecordedMail) -> HTML {
        let sender = mail.sender.map { [("From", $0.isEmpty ? "nobody (a report)" : $0)] } ?? []
        let recipients = mail.recipients.prefix(limit).map { ("To", $0) }
        guard !sender.isEmpty || !recipients.isEmpty else { return .group([]) }
        return FieldTable(caption: "Envelope", rows: sender + recipients).html
    }

    /// Returns rows for the summary.
    static func rows(_ mail: RecordedMail, _ exchange: Exchange) -> [(String, HTML)] {
        var rows: [(String, HTML)] = [("Connection", .text(mail.isSecure ? "TLS, by STARTTLS" : "not encrypted"))]
        if let user = mail.user { rows.append(("AUTH's user", ShownText.code(user, limit: 300))) }
        let links = mail.messages.prefix(limit).map { HTML.link($0, to: exchange.inspector("inbox/\($0)")) }
        if !links.isEmpty {
            rows.append(("In the inbox", .group(links.flatMap { [$0, .text(" ")] })))
        }
        return rows
    }
}

// JSON Web Tokens in detail: header and claims in tables, each with its meaning, and the check of the signature.

extension Inspector {
    func tokenCards(_ exchange: Exchange, _ found: FoundExchange) -> [HTML] {
        guard !found.tokens.isEmpty else { return [] }
        let cards = found.tokens.enumerated().map { number, entry in
            tokenCard(exchange, entry.token, place: entry.place, number: number)
        }
        let more =
            found.moreTokens > 0
            ? [HTML.tag("p", [("class", "soft")], "\(found.moreTokens) more tokens aren't shown here.")] : []
        let title = HTML.tag("h2", [], found.tokens.count == 1 ? "The token in it" : "The tokens in it")
        let moment = HTML.tag(
            "p", [("class", "soft small")], .text("As it was at the time of this exchange, "),
            ShownText.time(found.known.exchange.time), .text(" by the world's clock."))
        return [title, moment] + cards + more
    }

    func tokenCard(_ exchange: Exchange, _ token: ReadToken, place: String?, number: Int) -> HTML {
        let findings = token.signature + token.missing + (token.header + token.claims).flatMap(\.findings)
        let wrong = findings.filter { $0.holds == false }.count
        let badge =
            wrong == 0
            ? HTML.tag("span", [("class", "badge good")], "nothing wrong")
            : .tag("span", [("class", "badge bad")], wrong == 1 ? "1 thing is wrong" : "\(wrong) things are wrong")
        return .tag(
            "section", [("class", "card exchange-token"), ("aria-labelledby", "token-\(number)")],
            .tag(
                "div", [("class", "row")], .tag("h3", [("id", "token-\(number)")], token.title), badge,
                place.map { .tag("span", [("class", "soft small")], ShownText.isolated($0, limit: 200)) } ?? .group([])),
            .tag("h4", [], "Signature"), findingList(exchange, token.signature),
            memberTable(exchange, "Header", token.header), memberTable(exchange, "Claims", token.claims),
            token.missing.isEmpty
                ? .group([]) : .group([.tag("h4", [], "Missing"), findingList(exchange, token.missing)]))
    }

    private func memberTable(_ exchange: Exchange, _ caption: String, _ members: [ReadMember]) -> HTML {
        guard !members.isEmpty else { return .group([]) }
        var size = 0
        let shown = members.prefix(FieldTable.limit).prefix { member in
            defer { size += min(member.value.utf8.count, 1_000) + min(member.name.utf8.count, 200) }
            return size < 16 << 10
        }
        let rows = shown.map { member in
            HTML.tag(
                "tr", member.findings.contains { $0.holds == false } ? [("class", "exchange-wrong")] : [],
                .tag("th", [("scope", "row")], ShownText.isolated(member.name, limit: 200)),
                .tag("td", [("data-label", "Value")], ShownText.code(member.value, limit: 1_000)),
                .tag("td", [("data-label", "Says")], findingList(exchange, member.findings)))
        }
        let head = HTML.tag(
            "thead", [],
            .tag(
                "tr", [], .tag("th", [("scope", "col")], "Name"), .tag("th", [("scope", "col")], "Value"),
                .tag("th", [("scope", "col")], "Says")))
        let rest = members.count - shown.count
        return .group([
            .tag(
                "table", [("class", "exchange-members")], .tag("caption", [], caption), head,
                .element("tbody", attributes: [], children: rows)),
            rest > 0 ? .tag("p", [("class", "soft small")], "\(rest) more aren't shown here.") : .group([]),
        ])
    }

    /// Returns a list of findings, each with a mark that isn't only a colour, and a link to its exchange.
    func findingList(_ exchange: Exchange, _ findings: [ExplainedPart.Finding]) -> HTML {
        guard !findings.isEmpty else { return .group([]) }
        let items = findings.prefix(FieldTable.limit).map { finding -> HTML in
            let (kind, mark, spoken) =
                switch finding.holds {
                case true?: ("good", "✓", "Right: ")
                case false?: ("bad", "✗", "Wrong: ")
                case nil: ("plain", "", "")
                }
            let link = finding.exchange.map { id in
                HTML.group([.text(" ("), .link(id, to: exchange.inspector("requests/\(id)")), .text(")")])
            }
            return .tag(
                "li", [("class", "exchange-\(kind)")],
                mark.isEmpty ? .group([]) : .tag("span", [("aria-hidden", "true")], mark),
                spoken.isEmpty ? .group([]) : .tag("span", [("class", "spoken")], spoken),
                .tag("span", [], ShownText.isolated(finding.text, limit: 2_000), link ?? .group([])))
        }
        return .element("ul", attributes: [(name: "class", value: "exchange-findings")], children: items)
    }
}
