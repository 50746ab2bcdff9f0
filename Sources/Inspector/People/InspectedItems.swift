import Control
import EmulatorCore
import HTTPServer
import JOSE
import JSON
import Time

// Pages show the providers' data about a person or a user, and offer actions.

/// Shows items; its buttons belong to the page's one form for actions.
struct InspectedItems: Sendable {
    let exchange: Exchange
    let masksSecrets: Bool
    /// The person or user of the actions, who is part of their keys.
    let owner: String
    let providers: [any Provider]
    /// The level of the items' headings.
    var level = 4

    /// The ID of the page's form for actions.
    static let form = "act"
    static let field = "action"

    /// Returns a section with its title.
    func section(_ section: InspectedSection) -> HTML {
        .tag("section", [("class", "people-section")], .tag("h3", [], section.title), .tag("div", [], items(section)))
    }

    func items(_ section: InspectedSection) -> HTML {
        let more =
            section.more == 0
            ? []
            : [HTML.tag("p", [("class", "soft small")], "\(section.more) more, which came before these.")]
        let about =
            section.about.map { about -> [HTML] in
                // A text about an empty section isn't true of others.
                let isShown = section.items.isEmpty || about.count > 60
                return isShown ? [.tag("p", [("class", "soft small")], about)] : []
            } ?? []
        let items = HTML.element(
            "div", attributes: [(name: "class", value: "people-items")], children: section.items.map { item($0) })
        return .group(about + (section.items.isEmpty ? [] : [items]) + more)
    }

    private func item(_ item: InspectedItem) -> HTML {
        let marks = item.marks.map { mark in
            HTML.tag("span", [("class", "badge \(mark.mark.rawValue)")], mark.text)
        }
        let heading = HTML.tag(
            "h\(level)", [("class", "people-heading")], ShownText.isolated(item.title),
            .tag("span", [("class", "soft")], item.kind.map { " \($0)" } ?? ""),
            .group(marks.flatMap { [.text(" "), $0] }))
        return .tag(
            "div", [("class", "card people-item")], heading,
            facts(item.facts + (item.scopes.isEmpty ? [] : [InspectedFact("Scopes", .codes(item.scopes))])),
            .group(item.documents.map { document($0) }), tokens(item), buttons(item.actions, of: item.title))
    }

    func facts(_ facts: [InspectedFact]) -> HTML {
        guard !facts.isEmpty else { return .group([]) }
        let rows = facts.map { fact in
            HTML.group([.tag("dt", [], ShownText.isolated(fact.label)), .tag("dd", [], value(fact.value))])
        }
        return .element("dl", attributes: [(name: "class", value: "facts")], children: rows)
    }

    private func value(_ value: InspectedFact.Value) -> HTML {
        switch value {
        case .text(let text): ShownText.isolated(text, limit: 10_000)
        case .code(let text): InspectedItems.code(text)
        case .codes(let texts) where texts.isEmpty: .tag("span", [("class", "soft")], "none")
        case .codes(let texts): .group(texts.flatMap { [InspectedItems.code($0), .text(" ")] })
        case .time(let time): ShownText.time(time)
        case .subject(let subject):
            .group([InspectedItems.code(subject), person(named: subject)])
        }
    }

    /// Returns a link to the person to whom the provider has given this ID.
    private func person(named subject: String) -> HTML {
        let id = providers.lazy.compactMap {
            ($0 as? any KeepsGrants)?.account(named: subject, in: exchange.world)
        }.first
        guard let id else { return .group([]) }
        let page = exchange.inspector("people/\(Exchange.segment(id))")
        return .group([.text(" · "), .tag("a", [("href", page)], ShownText.isolated(id))])
    }

    static func code(_ text: String) -> HTML { .tag("code", [], ShownText.isolated(text, limit: 10_000)) }

    private func document(_ document: InspectedDocument) -> HTML {
        .tag(
            "details", [], .tag("summary", [], .tag("code", [], document.title)),
            .tag("pre", [("tabindex", "0")], ShownText.source(InspectedItems.lines(document.value), limit: 60_000)))
    }

    /// Returns JSON for people: a member or an element a line.
    static func lines(_ value: JSONValue, indent: String = "") -> String {
        let inner = indent + "  "
        switch value {
        case .object(let object) where !object.isEmpty:
            let members = object.members.map {
                "\(inner)\(JSONValue.string($0.key).text): \(lines($0.value, indent: inner))"
            }
            return "{\n\(members.joined(separator: ",\n"))\n\(indent)}"
        case .array(let items) where !items.isEmpty:
            return "[\n\(items.map { inner + lines($0, indent: inner) }.joined(separator: ",\n"))\n\(indent)]"
        default: return value.text
        }
    }

    // MARK: - Tokens

    private func tokens(_ item: InspectedItem) -> HTML {
        guard !item.tokens.isEmpty else { return .group([]) }
        // If each token has the scopes of the whole grant, they are shown there already.
        let hasScopes = item.tokens.contains { Set($0.scopes) != Set(item.scopes) }
        let head = (["Token"] + (hasScopes ? ["Scopes"] : []) + ["Works", "Revoke"]).map { title in
            HTML.tag("th", [("scope", "col")], title)
        }
        let rows = item.tokens.map { token in row(token, of: item.title, hasScopes: hasScopes) }
        let more = item.moreTokens > 0 ? "\(item.moreTokens) more, which came before these." : ""
        return .group([
            .tag(
                "table", [("class", "stack people-tokens")],
                .tag("thead", [], .element("tr", attributes: [], children: head)),
                .element("tbody", attributes: [], children: rows)),
            more.isEmpty ? .group([]) : .tag("p", [("class", "soft small")], more),
        ])
    }

    private func row(_ token: InspectedToken, of title: String, hasScopes: Bool) -> HTML {
        let end: HTML =
            if !token.works {
                .tag("span", [("class", "badge")], "not any more")
            } else if let expires = token.expires {
                .group([.text("until "), ShownText.time(expires)])
            } else { .text("until it is revoked") }
        let scopes = HTML.tag("td", [("data-label", "Scopes")], value(.codes(token.scopes)))
        let revoke =
            token.works ? [button(InspectedItems.revocation(of: token), of: "\(token.kind), \(title)")] : []
        return .tag(
            "tr", [], .tag("td", [("data-label", "Token")], .text("\(token.kind) "), secret(token.text)),
            hasScopes ? scopes : .group([]), .tag("td", [("data-label", "Works")], end),
            .tag("td", [], .group(revoke)))
    }

    /// Returns a token, which can be expanded.
    private func secret(_ text: String) -> HTML {
        guard !masksSecrets else { return .tag("code", [], "masked-\(text.utf8.count)") }
        guard text.utf8.count > 24 else { return InspectedItems.code(text) }
        return .tag(
            "details", [("class", "people-token")],
            .tag("summary", [], .tag("code", [], ShownText.isolated(text, limit: 16))),
            InspectedItems.code(text))
    }

    static func revocation(of token: InspectedToken) -> InspectedAction {
        InspectedAction(
            "Revoke", isDestructive: true, calling: "POST", "tokens/revocations", ["token": .string(token.text)])
    }

    // MARK: - Actions

    func buttons(_ actions: [InspectedAction], of title: String) -> HTML {
        guard !actions.isEmpty else { return .group([]) }
        return .element(
            "div", attributes: [(name: "class", value: "row people-actions")],
            children: actions.map { button($0, of: title) })
    }

    private func button(_ action: InspectedAction, of title: String) -> HTML {
        .tag(
            "button",
            [
                ("class", action.isDestructive ? "danger small" : "quiet small"), ("form", InspectedItems.form),
                ("name", InspectedItems.field), ("value", key(of: action)),
                ("aria-label", "\(action.label): \(ShownText.plain(title))"),
            ], action.label)
    }

    /// Returns the value that the button sends. The token, if there is one, can't be computed from it.
    func key(of action: InspectedAction) -> String {
        Base64URL.encode(Array(Digest.sha256("\(owner)\0\(action.key)").prefix(12)))
    }
}

extension InspectedSection {
    /// The actions of all its items.
    var actions: [InspectedAction] {
        items.flatMap { item in
            item.actions + item.tokens.filter(\.works).map { InspectedItems.revocation(of: $0) }
        }
    }
}

extension Inspector {
    /// Does the action of a button.
    ///
    /// - Returns: A sentence about what was done.
    func carryOut(_ action: InspectedAction, in exchange: Exchange) async throws -> String {
        switch action.work {
        case .work(let work): return try await work()
        case .call(let method, let path, let body):
            do throws(CallRefusal) {
                let answer = try await call(method, path, body, in: exchange)
                return "Done: \(action.label). \(Inspector.told(answer))"
            } catch { throw InspectedRefusal(error.status, error.message, path: error.path) }
        }
    }

    /// Returns the outcomes of messages to an app's server, as the control API's answer has them.
    private static func told(_ answer: JSONValue) -> String {
        var deliveries = (answer["notifications"]?.array ?? []) + [answer["webhook"] ?? .null]
        if answer["delivered"] != nil { deliveries.append(answer) }
        return deliveries.filter { !$0.isNull }.map { delivery in
            let place = delivery["url"]?.string.map { " at \($0)" } ?? ""
            if delivery["delivered"]?.bool ?? false { return "The app's server\(place) was told." }
            let reason = delivery["failure"]?.string ?? delivery["status"]?.integer.map { "it answered \($0)" } ?? ""
            return "The app's server\(place) wasn't told: \(reason)"
        }.joined(separator: " ")
    }
}
