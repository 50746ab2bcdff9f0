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
        return page(
            exchange, .signIns, title: ShownText.plain(document.name, limit: 200),
            lead: [.of("span.row", .group(badges(document.known.exchange)))],
            [document.known.exchange.mail == nil ? wayThrough(exchange, found) : nil]
                + troubles(exchange, found, document) + [
                    summary(exchange, found), actions(exchange, found),
                    .of(
                        "div.exchange-messages",
                        MessageColumn(document: document, page: exchange, ofRequest: true).html,
                        MessageColumn(document: document, page: exchange, ofRequest: false).html),
                ] + tokenCards(exchange, found) + [command(exchange, document)])
    }

    private func badges(_ exchange: RecordedExchange) -> [HTML] {
        let status = exchange.response.status
        let isBad = status >= 400 || exchange.diagnosis != nil && exchange.fault == nil
        let ordered = exchange.fault == nil ? [] : [HTML.badge("ordered", "warn")]
        let answer = HTML.badge("\(status)", isBad ? "bad" : "good")
        switch exchange.response.delivery {
        // The client hasn't seen an answer that was dropped.
        case .dropped: return ordered + [.badge("closed without an answer", "bad")]
        case .cut: return [answer] + ordered + [.badge("disconnected in the body", "bad")]
        case .whole, .stream: return [answer] + ordered
        }
    }

    // MARK: - Links to the other steps

    private func wayThrough(_ exchange: Exchange, _ found: FoundExchange) -> HTML {
        let (flow, count) = (found.flow, found.flow.count)
        let place = flow.firstIndex { $0.exchange.id == found.known.exchange.id } ?? 0
        let whole = count > 1 ? "Request \(place + 1) of \(count) of the sign-in" : "The sign-in of this request"
        func step(_ number: Int, _ word: String, _ relation: String) -> HTML? {
            guard flow.indices.contains(number) else { return nil }
            let to = flow[number].exchange
            let path = document(to).shown(encoded: to.path)
            return .of(
                "a", ["href": exchange.inspector("requests/\(to.id)"), "rel": relation], .text(word),
                ShownText.isolated("\(to.request.method) \(path)", limit: 80))
        }
        return .of(
            "nav.exchange-way", ["aria-label": "The sign-in"],
            exchange.link("flows/\(found.known.flow)", .text(whole)), step(place - 1, "Previous: ", "prev"),
            step(place + 1, "Next: ", "next"))
    }

    private func document(_ exchange: RecordedExchange) -> ExchangeDocument {
        ExchangeDocument(
            KnownExchange(exchange: exchange, flow: exchange.id, client: nil), masksSecrets: control.masksSecrets)
    }

    // MARK: - Failures

    private func troubles(_ exchange: Exchange, _ found: FoundExchange, _ document: ExchangeDocument) -> [HTML?] {
        let recorded = found.known.exchange
        let delivery: String? =
            switch recorded.response.delivery {
            case .dropped: "The connection was closed before the header of this response: the client received nothing."
            case .cut: "The connection was closed in the middle of the body: the client received half of the body."
            case .whole, .stream: nil
            }
        let reason = document.diagnosis.map { diagnosis in
            HTML.of(
                "div.note.\(recorded.fault == nil ? "bad" : "warn")#diagnosis",
                .of("p", .of("strong", recorded.fault == nil ? "Why it was refused" : "What was ordered")),
                reasonParts(diagnosis, exchange),
                help(for: recorded).map {
                    .of("p", exchange.link($0.path, "How to mend it: \($0.title)"))
                })
        }
        return [
            reason
                ?? recorded.fault.map {
                    .note(
                        "warn", .of("strong", "What was ordered: "),
                        ShownText.isolated(document.shown($0), limit: 2_000))
                }, delivery.map { .note("warn", .text($0)) },
            document.isWithheld
                ? .note(
                    "warn",
                    "Bodies and tokens aren't shown, because the secrets in this request couldn't be found and masked.")
                : nil,
        ]
            + found.advice.map {
                .of("p.note\($0.weight == .problem ? ".bad" : "")", ShownText.isolated($0.text, limit: 2_000))
            }
    }

    // MARK: - Summary

    private func summary(_ exchange: Exchange, _ found: FoundExchange) -> HTML {
        let recorded = found.known.exchange
        let evidence = ExchangeDocument(found.known, masksSecrets: control.masksSecrets).evidence
        func link(_ to: RecordedExchange) -> HTML {
            let words = "\(to.id): \(document(to).name), \(to.response.status)"
            return exchange.link("requests/\(to.id)", ShownText.isolated(words, limit: 200))
        }
        let children = found.children.prefix(20).flatMap { [link($0.exchange), HTML.of("br")] }.dropLast()
        var facts: [(String, HTML?)] = [
            (
                "When",
                .group([
                    .of("time", ["datetime": recorded.time.text], .text(recorded.time.text)),
                    .soft(" by the world's clock"),
                ])
            ), ("Took", .text(ShownText.duration(recorded.duration))), ("Request", .of("code", .text(recorded.id))),
            ("World", ShownText.isolated(recorded.world, limit: 2_000)),
        ]
        if let mail = recorded.mail {
            let links = mail.messages.prefix(FieldTable.limit).flatMap {
                [exchange.link("inbox/\($0)", .text($0)), " "]
            }
            facts += [
                ("Connection", mail.isSecure ? "TLS, by STARTTLS" : "not encrypted"),
                ("AUTH's user", mail.user.map { ShownText.code($0, limit: 300) }),
                ("In the inbox", links.isEmpty ? nil : .group(links)),
            ]
        }
        facts += [
            ("Client", found.known.client.map { ShownText.code($0, limit: 300) }),
            ("Answered by", provider(of: recorded).map { .text($0.facts.title) }),
            ("How do you know?", evidence.map(Inspector.source)),
            ("Made for", found.parent.map { link($0.exchange) }),
            ("Made for it", children.isEmpty ? nil : .group(Array(children))),
        ]
        let rows = facts.compactMap { name, value in
            value.map { HTML.of("div", .of("dt", .text(name)), .of("dd", $0)) }
        }
        return .of("div.card", .of("dl.exchange-facts", .group(rows)))
    }

    private static func source(_ evidence: Evidence) -> HTML {
        let words =
            switch evidence.kind {
            case .documented: "The provider documents it"
            case .recorded: "A recording of the provider's response"
            case .specified: "A specification says so"
            case .reported: "Somebody reports it"
            case .chosen: "Nothing public says"
            }
        let sources = evidence.source.split(separator: " ").flatMap { word -> [HTML] in
            guard word.hasPrefix("https://") else { return [" ", .text(String(word))] }
            let url = String(word.hasSuffix(",") ? word.dropLast() : word)
            return [" ", .of("a", ["href": url, "rel": "noreferrer"], ShownText.isolated(url, limit: 300))]
        }
        return .group([.text(words + (evidence.date.map { " (\($0))" } ?? "") + ":")] + sources)
    }

    // MARK: - Actions

    private func actions(_ exchange: Exchange, _ found: FoundExchange) -> HTML {
        let (id, flow) = (found.known.exchange.id, found.known.flow)
        let api = "\(exchange.address.ownBase)\(ControlAPI.root)/requests"
        func file(_ text: String, _ url: String, _ name: String?) -> HTML {
            .of("a.button.quiet.small", ["href": url, "download": name], .text(text))
        }
        // A HAR file has only HTTP exchanges.
        let archives =
            found.known.exchange.mail != nil
            ? []
            : [
                file("Save as HAR", "\(api)/\(id)?format=har", "\(id).har"),
                file("Save the sign-in as HAR", "\(api)?flow=\(flow)&format=har", "\(flow)-flow.har"),
            ]
        return .of(
            "div.exchange-actions", .of("div.row", .group(archives), file("JSON", "\(api)/\(id)", nil)),
            comparing(exchange, found))
    }

    /// Returns a form in which the user chooses a recorded request to compare with the one on the page.
    func comparing(_ exchange: Exchange, _ found: FoundExchange, with other: String? = nil) -> HTML? {
        guard let first = found.similar.first else { return nil }
        let worked = found.similar.first { $0.exchange.diagnosis == nil && $0.exchange.response.status < 400 }
        let options: [Option] = found.similar.map { similar in
            let exchange = similar.exchange
            let remark = exchange.id == worked?.exchange.id ? "the last that worked, " : ""
            return (
                exchange.id, "\(exchange.id): \(remark)\(exchange.response.status) at \(exchange.time.text)"
            )
        }
        return .of(
            "form.row",
            ["method": "get", "action": exchange.inspector("requests/\(found.known.exchange.id)")],
            .of("label", ["for": "with"], "Compare with"),
            .select("with", options, chosen: other ?? (worked ?? first).exchange.id, ["id": "with"]),
            .button("Compare", "quiet.small"))
    }

    // MARK: - As a command

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
        return .of(
            "section.card.exchange-command",
            .of("div.row", .of("h2", "Send it again"), copyButton("command", "Copy as curl")),
            .group(command.remarks.map { .small($0) }),
            .source(command.text, label: "The request as a curl command", id: "command"))
    }
}

// JSON Web Tokens in detail: header and claims in tables, each with its meaning, and the check of the signature.

extension Inspector {
    func tokenCards(_ exchange: Exchange, _ found: FoundExchange) -> [HTML?] {
        guard !found.tokens.isEmpty else { return [] }
        let cards = found.tokens.enumerated().map { number, entry in
            tokenCard(exchange, entry.token, place: entry.place, number: number)
        }
        return [
            .of("h2", found.tokens.count == 1 ? "The token that was sent" : "The tokens that were sent"),
            .of(
                "p.soft.small", "The tokens are judged by the world's clock at the time of this request: ",
                ShownText.time(found.known.exchange.time), "."),
        ] + cards + [.more(found.moreTokens, "tokens aren't shown on this page.")]
    }

    func tokenCard(_ exchange: Exchange, _ token: ReadToken, place: String?, number: Int) -> HTML {
        let findings = token.signature + token.missing + (token.header + token.claims).flatMap(\.findings)
        let wrong = findings.filter { $0.holds == false }.count
        return .of(
            "section.card.exchange-token", ["aria-labelledby": "token-\(number)"],
            .of(
                "div.row", .of("h3#token-\(number)", .text(token.title)),
                wrong == 0
                    ? .badge("nothing wrong", "good")
                    : .badge(wrong == 1 ? "1 thing is wrong" : "\(wrong) things are wrong", "bad"),
                place.map { .of("span.soft.small", ShownText.isolated($0, limit: 200)) }),
            .of("h4", "Signature"), findingList(exchange, token.signature),
            memberTable(exchange, "Header", token.header), memberTable(exchange, "Claims", token.claims),
            token.missing.isEmpty
                ? nil : .group([.of("h4", "Missing"), findingList(exchange, token.missing) ?? ""]))
    }

    private func memberTable(_ exchange: Exchange, _ caption: String, _ members: [ReadMember]) -> HTML? {
        guard !members.isEmpty else { return nil }
        var size = 0
        let shown = members.prefix(FieldTable.limit).prefix { member in
            defer { size += min(member.value.utf8.count, 1_000) + min(member.name.utf8.count, 200) }
            return size < 16 << 10
        }
        let rows = shown.map { member in
            HTML.Row(
                ["class": member.findings.contains { $0.holds == false } ? "exchange-wrong" : nil],
                ShownText.isolated(member.name, limit: 200), ShownText.code(member.value, limit: 1_000),
                findingList(exchange, member.findings) ?? "")
        }
        return .group([
            .table("exchange-members", ["Name", "Value", "Says"], caption: .text(caption), headed: true, rows),
            .more(members.count - shown.count) ?? "",
        ])
    }

    /// Returns findings as a list. A finding that something is right has the mark ✓, one that something is wrong has ✗,
    /// and any other finding has no mark. A finding about a certain recorded request links to that request.
    func findingList(_ exchange: Exchange, _ findings: [ExplainedPart.Finding]) -> HTML? {
        guard !findings.isEmpty else { return nil }
        let items = findings.prefix(FieldTable.limit).map { finding -> HTML in
            let (kind, mark, spoken) =
                switch finding.holds {
                case true?: ("good", "✓", "Right: ")
                case false?: ("bad", "✗", "Wrong: ")
                case nil: ("plain", "", "")
                }
            return .of(
                "li.exchange-\(kind)",
                mark.isEmpty ? nil : .group([.of("span", ["aria-hidden": "true"], .text(mark)), .spoken(spoken)]),
                .of(
                    "span", ShownText.isolated(finding.text, limit: 2_000),
                    finding.exchange.map { .group([" (", exchange.link("requests/\($0)", .text($0)), ")"]) }))
        }
        return .of("ul.exchange-findings", .group(items))
    }

    /// Returns the parts of an explanation as HTML, each with its heading and its findings.
    func findingCards(_ exchange: Exchange, _ parts: some Sequence<ExplainedPart>) -> [HTML] {
        parts.map { part in
            .of(
                "section.card", .of("h3", ShownText.isolated(part.heading, limit: 200)),
                findingList(exchange, part.findings))
        }
    }
}
