import Control
import EmulatorCore
import HTTPServer
import JOSE
import JSON
import Time

// Pages show the providers' data about a person or a user, and offer actions.

/// Shows what a provider has stored about an account or a user, such as sessions and tokens. The buttons for actions
/// all belong to one form of the page.
struct InspectedItems: Sendable {
    let exchange: Exchange
    let masksSecrets: Bool
    /// The name of the provider whose sessions, tokens and other data are shown.
    let owner: String
    let providers: [any Provider]
    /// The level of the HTML headings above the single sessions, tokens and so on, such as 4 for `h4`.
    var level = 4

    /// The ID of the page's HTML form to which all action buttons belong.
    static let form = "act"
    static let field = "action"

    func section(_ section: InspectedSection) -> HTML {
        // A text about an empty section isn't true of others.
        let about = section.about.flatMap { section.items.isEmpty || $0.count > 60 ? HTML.small($0) : nil }
        return .of(
            "section.people-section", .of("h\(level - 1)", .text(section.title)),
            .of(
                "div", about,
                section.items.isEmpty ? nil : .of("div.people-items", .group(section.items.map { item($0) })),
                .more(section.more, "older entries aren't shown here.")))
    }

    private func item(_ item: InspectedItem) -> HTML {
        .of(
            "div.card.people-item",
            .of(
                "h\(level).people-heading", ShownText.isolated(item.title), item.kind.map { .soft(" \($0)") },
                .group(item.marks.flatMap { [" ", .badge($0.text, $0.mark.rawValue)] })),
            facts(item.facts + (item.scopes.isEmpty ? [] : [InspectedFact("Scopes", .codes(item.scopes))])),
            .group(item.documents.map { document($0) }), tokens(item), buttons(item.actions, of: item.title))
    }

    func facts(_ facts: [InspectedFact]) -> HTML? { .facts(facts.map { ($0.label, value($0.value)) }) }

    private func value(_ value: InspectedFact.Value) -> HTML {
        switch value {
        case .text(let text): ShownText.isolated(text, limit: 10_000)
        case .code(let text): InspectedItems.code(text)
        case .codes(let texts) where texts.isEmpty: .soft("none")
        case .codes(let texts): .group(texts.flatMap { [InspectedItems.code($0), " "] })
        case .time(let time): ShownText.time(time)
        case .subject(let subject): .group([InspectedItems.code(subject), person(named: subject)])
        }
    }

    /// Returns a link to the page of the account whose ID at the provider is `subject`, or empty HTML if there is no
    /// such account.
    private func person(named subject: String) -> HTML {
        let id = providers.lazy.compactMap {
            ($0 as? any KeepsGrants)?.account(named: subject, in: exchange.world)
        }.first
        return id.map { .group([" · ", exchange.link("people/\(Exchange.segment($0))", ShownText.isolated($0))]) } ?? ""
    }

    static func code(_ text: String) -> HTML { .of("code", ShownText.isolated(text, limit: 10_000)) }

    private func document(_ document: InspectedDocument) -> HTML {
        .of(
            "details", .of("summary", .of("code", .text(document.title))),
            .source(document.value.indented(), label: document.title, limit: 60_000))
    }

    // MARK: - Tokens

    private func tokens(_ item: InspectedItem) -> HTML? {
        guard !item.tokens.isEmpty else { return nil }
        // If each token has the scopes of the whole grant, they are shown there already.
        let hasScopes = item.tokens.contains { Set($0.scopes) != Set(item.scopes) }
        let rows = item.tokens.map { token in
            var row = HTML.Row([:], .group([.text("\(token.kind) "), secret(token.text)]))
            if hasScopes { row.cells.append(value(.codes(token.scopes))) }
            row.cells.append(
                !token.works
                    ? .badge("not any more")
                    : token.expires.map { .group(["until ", ShownText.time($0)]) } ?? "until it is revoked")
            let revoke = InspectedItems.revocation(of: token)
            row.cells.append(token.works ? button(revoke, of: "\(token.kind), \(item.title)") : "")
            return row
        }
        return .group([
            .table("stack.people-tokens", ["Token"] + (hasScopes ? ["Scopes"] : []) + ["Works", ""], rows),
            .more(item.moreTokens, "older tokens aren't shown here.") ?? "",
        ])
    }

    /// Returns a token as HTML, collapsed if it is long.
    private func secret(_ text: String) -> HTML {
        guard !masksSecrets else { return .of("code", "masked-\(text.utf8.count)") }
        guard text.utf8.count > 24 else { return InspectedItems.code(text) }
        return .of(
            "details.people-token", .of("summary", .of("code", ShownText.isolated(text, limit: 16))),
            InspectedItems.code(text))
    }

    static func revocation(of token: InspectedToken) -> InspectedAction {
        InspectedAction(
            "Revoke", isDestructive: true, calling: "POST", "tokens/revocations", ["token": .string(token.text)])
    }

    // MARK: - Actions

    func buttons(_ actions: [InspectedAction], of title: String) -> HTML? {
        actions.isEmpty ? nil : .of("div.row.people-actions", .group(actions.map { button($0, of: title) }))
    }

    private func button(_ action: InspectedAction, of title: String) -> HTML {
        .button(
            action.label, action.isDestructive ? "danger.small" : "quiet.small",
            [
                "form": InspectedItems.form, "name": InspectedItems.field, "value": key(of: action),
                "aria-label": "\(action.label): \(ShownText.plain(title))",
            ])
    }

    /// Returns the value that the button of an action sends. It is a digest, which reveals no token.
    func key(of action: InspectedAction) -> String {
        Base64URL.encode(Array(Digest.sha256("\(owner)\0\(action.key)").prefix(12)))
    }
}

extension InspectedSection {
    /// All actions that the page offers for stored items, such as the revocation of a token.
    var actions: [InspectedAction] {
        items.flatMap { item in
            item.actions + item.tokens.filter(\.works).map { InspectedItems.revocation(of: $0) }
        }
    }
}

extension Inspector {
    /// Carries out the action of a button on the page of an account or a user.
    ///
    /// - Returns: A sentence about what was done.
    func carryOut(_ action: InspectedAction, in exchange: Exchange) async throws -> String {
        switch action.work {
        case .work(let work): return try await work()
        case .call(let method, let path, let body):
            let answer = try await call(method, path, body, in: exchange)
            return "Done: \(action.label). \(Inspector.told(answer))"
        }
    }

    /// Returns sentences that say of each message to an app's server whether it was delivered. The messages are those
    /// in the control API's response.
    private static func told(_ answer: JSONValue) -> String {
        var deliveries = (answer["notifications"]?.array ?? []) + [answer["webhook"] ?? .null]
        if answer["delivered"] != nil { deliveries.append(answer) }
        return deliveries.filter { !$0.isNull }.map { delivery in
            let place = delivery["url"]?.string.map { " at \($0)" } ?? ""
            if delivery["delivered"]?.bool ?? false { return "The app's server\(place) was notified." }
            let reason = delivery["failure"]?.string ?? delivery["status"]?.integer.map { "it answered \($0)" } ?? ""
            return "The app's server\(place) wasn't notified: \(reason)"
        }.joined(separator: " ")
    }
}
