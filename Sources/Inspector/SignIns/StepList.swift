import Control
import EmulatorCore
import HTTPServer

/// A conversation as a list: the same as the diagram, for people who read rather than look.
struct StepList {
    let conversation: Conversation
    let flow: Flow
    let reader: FlowReader
    let exchange: Exchange

    var html: HTML {
        let items = conversation.lines.compactMap { line -> HTML? in
            switch line {
            case .pause(let length): .tag("li", [("class", "step-pause soft")], "\(ShownText.duration(length)) pass")
            case .request(let step): item(step)
            case .answer: nil
            case .onward(_, let party, let label, let place):
                .tag(
                    "li", [("class", "step-onward")],
                    .tag("p", [], parties(.browser, party), .text(" "), ShownText.isolated(label)),
                    .tag("p", [("class", "soft small")], ShownText.isolated(place)))
            }
        }
        return .element("ol", attributes: [(name: "class", value: "steps card")], children: items)
    }

    private func item(_ step: FlowStep) -> HTML {
        let time = max(0, step.exchange.began - conversation.began)
        let offset = time == 0 ? "0" : "+\(ShownText.duration(time))"
        let style = step.isPending ? "badge info" : step.isFailed || step.isCancelled ? "badge bad" : "badge good"
        return .tag(
            "li", [("class", step.isInner ? "step inner" : "step"), ("id", "step-\(step.exchange.id)")],
            .tag(
                "p", [("class", "step-line")], .tag("span", [("class", "step-at soft")], offset),
                parties(step.sender, step.receiver),
                .tag(
                    "a", [("href", exchange.inspector("requests/\(step.exchange.id)"))],
                    ShownText.isolated(step.step.label)),
                .tag("span", [("class", style)], ShownText.plain(step.answer)),
                .tag("span", [("class", "soft small")], "in \(ShownText.duration(step.exchange.duration))")),
            .tag(
                "p", [("class", "step-path")],
                .tag(
                    "code", [],
                    ShownText.isolated(
                        "\(step.exchange.request.method) \(step.exchange.host ?? "")"
                            + reader.control.shownPath(of: step.known)))),
            diagnosis(step), fault(step))
    }

    private func parties(_ from: Party, _ to: Party) -> HTML {
        .tag(
            "span", [("class", "step-parties")],
            .tag("span", [("class", "party \(from.style)")], from.title),
            .tag("span", [("aria-hidden", "true")], " → "), .tag("span", [("class", "spoken")], " to "),
            .tag("span", [("class", "party \(to.style)")], to.title))
    }

    private func diagnosis(_ step: FlowStep) -> HTML {
        // The reason for the failure of the sign-in is shown above.
        guard step.isFailed, step.exchange.id != flow.failure?.exchange.id,
            let text = reader.control.shownDiagnosis(of: step.known)
        else { return .group([]) }
        return .tag(
            "p", [("class", step.isPending ? "flow-why" : "flow-why bad")], ShownText.isolated(text, limit: 2_000))
    }

    private func fault(_ step: FlowStep) -> HTML {
        guard let fault = step.exchange.fault, fault != step.exchange.diagnosis else { return .group([]) }
        return .tag("p", [("class", "flow-why warn")], ShownText.isolated(fault, limit: 1_200))
    }
}
