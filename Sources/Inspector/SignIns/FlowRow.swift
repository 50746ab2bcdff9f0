import EmulatorCore
import HTTPServer

/// A flow in the list. The page and its live stream have the same rows.
struct FlowRow {
    let flow: Flow
    let reader: FlowReader
    let exchange: Exchange

    var html: HTML {
        let person = reader.person(of: flow)
        return .tag(
            "li",
            [
                ("class", "flow"), ("id", "flow-\(flow.id)"), ("data-order", String(flow.order)),
                ("data-spoken", spoken),
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
        if let failure = flow.failure { return FlowRow.reason(failure, flow, reader) }
        // Searching for advice parses bodies again, so it is only done if there is likely to be some.
        let advice = flow.awaitsRedemption ? reader.advice(flow.steps.map(\.known), exchange.world) : []
        // The rest of it is on the sign-in's own page.
        let problem = advice.first { $0.weight == .problem }.map { advice in
            advice.text.firstRange(of: ". ").map { String(advice.text[..<$0.lowerBound]) + "." } ?? advice.text
        }
        return (problem ?? flow.hint).map { text in
            .tag("p", [("class", "flow-why soft")], ShownText.isolated(text, limit: 2_000))
        } ?? .group([])
    }

    /// Returns the whole reason for the failure.
    static func reason(_ failure: FlowStep, _ flow: Flow, _ reader: FlowReader) -> HTML {
        let style = flow.ending == .refused ? "flow-why bad" : "flow-why"
        return .tag("p", [("class", style)], ShownText.isolated(reason(failure, reader), limit: 2_000))
    }

    static func reason(_ failure: FlowStep, _ reader: FlowReader) -> String {
        if let diagnosis = reader.control.shownDiagnosis(of: failure.known) { return diagnosis }
        if let fault = failure.exchange.fault { return fault }
        return "answered \(failure.exchange.response.status)"
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
    private var spoken: String {
        let reason = flow.failure.map { ": " + FlowRow.reason($0, reader) } ?? ""
        return ShownText.plain("\(flow.name), \(flow.ending.title.lowercased())\(reason)", limit: 400)
    }
}
