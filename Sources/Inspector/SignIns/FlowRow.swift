import Control
import EmulatorCore
import HTTPServer

/// A flow in the list.
struct FlowRow {
    let flow: Flow
    let reader: FlowReader
    let exchange: Exchange

    var html: HTML {
        let person = reader.person(of: flow)
        return .tag(
            "li",
            [
                ("class", "flow"), ("id", "flow-\(flow.id)"), ("data-spoken", FlowRow.spoken(flow, reader)),
            ],
            .tag(
                "p", [("class", "flow-what")], .tag("span", [("class", flow.ending.style)], flow.ending.title), heading,
                who(person), when),
            reason)
    }

    private var heading: HTML {
        .tag(
            "a", [("class", "flow-name"), ("href", exchange.inspector("flows/\(flow.id)"))],
            ShownText.isolated(flow.name))
    }

    private func who(_ person: FlowReader.Person?) -> HTML {
        .group([
            person.map { name($0) } ?? .group([]),
            flow.client.map { .tag("code", [("class", "soft")], ShownText.isolated($0)) } ?? .group([]),
        ])
    }

    private func name(_ person: FlowReader.Person) -> HTML { FlowRow.name(person, exchange) }

    /// Returns the person's name, with a link to their page.
    static func name(_ person: FlowReader.Person, _ exchange: Exchange) -> HTML {
        switch person {
        case .account(let account):
            .tag(
                "a", [("href", exchange.inspector("people/\(PercentCoding.encode(Array(account.id.utf8)))"))],
                ShownText.isolated(account.fullName.isEmpty ? account.id : account.fullName))
        case .text(let text): ShownText.isolated(text)
        }
    }

    private var reason: HTML {
        if let failure = flow.failure {
            let style = flow.ending == .refused ? "flow-why bad" : "flow-why"
            return .tag("p", [("class", style)], ShownText.isolated(reader.reason(failure), limit: 2_000))
        }
        // Searching for advice parses bodies again, so it is only done if there is likely to be some.
        let advice = flow.awaitsRedemption ? reader.advice(on: flow.steps.map(\.known)) : []
        // The rest of it is on the sign-in's own page.
        let problem = advice.first { $0.weight == .problem }.map { advice in
            advice.text.firstRange(of: ". ").map { String(advice.text[..<$0.lowerBound]) + "." } ?? advice.text
        }
        return (problem ?? flow.hint).map { text in
            .tag("p", [("class", "flow-why soft")], ShownText.isolated(text, limit: 2_000))
        } ?? .group([])
    }

    /// The world's time; scripts add how long ago it was by the machine's.
    private var when: HTML {
        guard let first = flow.steps.first?.exchange else { return .group([]) }
        let text = first.time.text
        return .tag(
            "time",
            [
                ("class", "flow-when soft"), ("datetime", text), ("title", text),
                ("data-at", String((flow.began + flow.duration) / 1_000)),
            ], String(text.dropFirst(11).prefix(8)))
    }

    /// The text for screen readers when the flow appears or changes.
    static func spoken(_ flow: Flow, _ reader: FlowReader) -> String {
        let reason = flow.failure.map { ": " + reader.reason($0) } ?? ""
        return ShownText.plain("\(flow.name), \(flow.ending.title.lowercased())\(reason)", limit: 400)
    }
}

extension Flow.Ending {
    /// The class of its badge.
    var style: String {
        switch self {
        case .signedIn: "badge good"
        case .refused: "badge bad"
        case .cancelled, .faulted: "badge warn"
        case .unfinished: "badge info"
        case .answered, .signedOut: "badge"
        }
    }
}

extension Party {
    /// The name of its colour in the style sheet.
    var style: String {
        switch self {
        case .app, .scenario: "app"
        case .browser: "browser"
        case .backend: "backend"
        case .provider, .nobody: "provider"
        }
    }
}
