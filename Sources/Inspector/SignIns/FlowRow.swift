import EmulatorCore
import HTTPServer

/// A flow in the list. The page and its live stream are made of the same rows.
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
            .tag("p", [("class", "flow-end")], .tag("span", [("class", flow.ending.style)], flow.ending.title)),
            .tag("div", [("class", "flow-what")], heading, who(person), reason), measures)
    }

    private var heading: HTML {
        .tag("h2", [], .tag("a", [("href", exchange.inspector("flows/\(flow.id)"))], ShownText.isolated(flow.name)))
    }

    private func who(_ person: FlowReader.Person?) -> HTML {
        var facts: [HTML] = []
        if let person {
            facts.append(.tag("span", [], .tag("span", [("class", "soft")], "person "), name(person)))
        }
        if let client = flow.client {
            facts.append(
                .tag(
                    "span", [], .tag("span", [("class", "soft")], "client "),
                    .tag("code", [], ShownText.isolated(client))))
        }
        return facts.isEmpty ? .group([]) : .tag("p", [("class", "flow-who")], .group(facts))
    }

    private func name(_ person: FlowReader.Person) -> HTML { FlowRow.name(person, exchange) }

    /// The person's name, with a link to their page.
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
        // Looking for advice means reading bodies again, so only where some is likely.
        let advice = flow.awaitsRedemption ? reader.advice(flow.steps.map(\.known), exchange.world) : []
        // The rest of it stands on the sign-in's own page.
        let problem = advice.first { $0.weight == .problem }.map { advice in
            advice.text.firstRange(of: ". ").map { String(advice.text[..<$0.lowerBound]) + "." } ?? advice.text
        }
        return (problem ?? flow.hint).map { text in
            .tag("p", [("class", "flow-why soft")], ShownText.isolated(text, limit: 2_000))
        } ?? .group([])
    }

    /// Why it failed, whole.
    static func reason(_ failure: FlowStep, _ flow: Flow, _ reader: FlowReader) -> HTML {
        let style = flow.ending == .refused ? "flow-why bad" : "flow-why"
        return .tag("p", [("class", style)], ShownText.isolated(reason(failure, reader), limit: 2_000))
    }

    static func reason(_ failure: FlowStep, _ reader: FlowReader) -> String {
        if let diagnosis = reader.control.shownDiagnosis(of: failure.known) { return diagnosis }
        if let fault = failure.exchange.fault { return fault }
        return "answered \(failure.exchange.response.status)"
    }

    private var measures: HTML {
        let count = flow.steps.count
        var facts: [HTML] = [.tag("span", [], count == 1 ? "1 exchange" : "\(count) exchanges")]
        if let time = flow.steps.first?.exchange.time { facts.insert(ShownText.time(time), at: 0) }
        var took = ShownText.duration(flow.duration)
        if flow.waiting >= 100_000 { took += ", \(ShownText.duration(flow.waiting)) of it waiting" }
        facts.append(.tag("span", [], took))
        return .tag("p", [("class", "flow-when soft")], .group(facts))
    }

    /// What a screen reader says when the flow comes or changes.
    private var spoken: String {
        let reason = flow.failure.map { ": " + FlowRow.reason($0, reader) } ?? ""
        return ShownText.plain("\(flow.name), \(flow.ending.title.lowercased())\(reason)", limit: 400)
    }
}
