import Control
import EmulatorCore
import HTTPServer
import JOSE

// The page GET /_understudy/: a row for each sign-in, the newest first.
//
// Query: provider, client, refused, q and all filter; before is the position of a flow after which a page of older ones
// begins.

extension Inspector {
    var signInsEndpoints: [Endpoint] {
        [
            page("GET", "") { try await signIns($0) },
            page("GET", "flows/har") { try await archive($0) },
            form("flows/empty") { exchange, _ in try await emptyRecording(exchange) },
            page("GET", "flows/:id") { try await flow($0) },
        ]
    }

    func signIns(_ exchange: Exchange) async throws -> Response {
        let form = exchange.request.queryForm
        let before = form["before"].flatMap { FlowPlace($0) }
        let lead = [
            liveButton,
            .of(
                "div.row.flow-buttons",
                .of(
                    "a.button.quiet.small",
                    ["href": exchange.inspector("flows/har"), "download": "\(exchange.world.name).har"],
                    "Save all as HAR"),
                action(exchange, "flows/empty", "Empty the recording", "danger.small")),
        ]
        return try await exchange.world.recording.search {
            page(
                exchange, .signIns, title: "Sign-ins", scripts: before == nil ? ["follow", "signins"] : ["signins"],
                lead: lead,
                [
                    filterForm(exchange, form),
                    // A page of older sign-ins isn't updated.
                    .of("div#sign-ins", ["data-follow": before == nil], .group(list(exchange, form, before: before))),
                ])
        }
    }

    private func filterForm(_ exchange: Exchange, _ form: Form) -> HTML {
        let options: [Option] = [("", "All")] + providers.map { ($0.name, $0.facts.title) }
        func choice(_ label: String, _ name: String) -> HTML { .choice(label, name, isChosen: form[name] != nil) }
        return .of(
            "form.flow-filter", ["method": "get", "action": exchange.inspector(), "role": "search"],
            .field("Provider", .select("provider", options, chosen: form["provider"] ?? "")),
            .field("Client", .input("client", form["client"] ?? "", type: "search")),
            .field("Text", .input("q", form["q"] ?? "", type: "search")),
            .of(
                "div.flow-choices", choice("Refused only", "refused"), choice("Unfinished only", "unfinished"),
                choice("Show requests for key sets and discovery, too", "all")),
            .button("Show", "quiet.orders-unscripted"))
    }

    // MARK: - The list

    private static let shownFlows = 50

    private func list(_ exchange: Exchange, _ form: Form, before: FlowPlace?) -> [HTML] {
        let reader = FlowReader(control, exchange.world)
        let found = reader.flows(FlowFilter(form), before: before, limit: Inspector.shownFlows + 1)
        let flows = found.prefix(Inspector.shownFlows)
        let rows = flows.map { FlowRow(flow: $0, reader: reader, exchange: exchange).html }
        let known = ["provider", "client", "q", "refused", "unfinished", "all"]
        let filter = form.fields.filter { known.contains($0.name) && !$0.value.isEmpty }.map { ($0.name, $0.value) }
        let next = found.count > flows.count ? flows.last.map { FlowPlace(of: $0.steps.map(\.known)) } : nil
        let older = next.map { exchange.inspector(Inspector.address("", filter + [("before", $0.text)])) }
        return [
            rows.isEmpty
                ? .of("div.empty#no-flows", nothing(exchange, filter.contains { $0.0 != "all" }, before)) : "",
            .of("ol.flows#flows", .group(rows)),
            older.map { .of("p.flow-more", .of("a#older", ["href": $0], "Older ones")) } ?? "",
            before == nil ? "" : .of("p", exchange.link(Inspector.address("", filter), "Back to the newest")),
        ]
    }

    private func nothing(_ exchange: Exchange, _ isFiltered: Bool, _ before: FlowPlace?) -> HTML {
        if before != nil { return .of("p", "There are no older sign-ins.") }
        if isFiltered {
            return .of(
                "p", "No sign-in matches the filter. To look up a code, a state or a nonce, use ",
                exchange.link(Area.explain.path, "Explain"), ".")
        }
        if !exchange.world.recording.known(limit: 1).exchanges.isEmpty {
            return .of("p", "No sign-in was attempted yet: only key sets and discovery documents were requested.")
        }
        let links = tryOut(exchange)
        return .group([
            .of("p", links == nil ? "No sign-ins yet." : "No sign-ins yet. Try one:"), links ?? "",
            .of(
                "p", exchange.link(Area.setUp.path, "Point your app here"),
                ", and each sign-in shows up as it happens."),
        ])
    }

    /// Answers with a HAR file. It contains all recorded requests, or only the requests of one sign-in.
    private func archive(_ exchange: Exchange) async throws -> Response {
        let flow = exchange.request.queryForm["flow"]
        return try await exchange.world.recording.search {
            let known = exchange.world.recording.known().exchanges
            return control.archive(of: flow.map { flow in known.filter { $0.flow == flow } } ?? known)
        }
    }

    private func emptyRecording(_ exchange: Exchange) async throws -> Response {
        try await trying {
            _ = try await call("DELETE", "requests", in: exchange)
            return changed(exchange, show: "")
        } refused: {
            missing(exchange, .signIns, "Sign-ins", $0.message, status: $0.status)
        }
    }
}

extension FlowFilter {
    /// Reads, from the query of the page's URL, the conditions by which the list of sign-ins is filtered.
    fileprivate init(_ form: Form) {
        self.init()
        func text(_ name: String) -> String? { form[name].flatMap { $0.isEmpty ? nil : $0 } }
        (provider, client, self.text) = (text("provider"), text("client"), text("q"))
        isRefused = form["refused"] != nil ? true : nil
        isUnfinished = form["unfinished"] != nil ? true : nil
        takesQuiet = form["all"] != nil
    }
}

/// A sign-in's entry in the list of sign-ins.
struct FlowRow {
    let flow: Flow
    let reader: FlowReader
    let exchange: Exchange

    var html: HTML {
        .of(
            "li.flow", ["id": "flow-\(flow.id)", "data-spoken": FlowRow.spoken(flow, reader)],
            .of(
                "p.flow-what", .of("span", ["class": flow.ending.style], .text(flow.ending.title)),
                .of("a.flow-name", ["href": exchange.inspector("flows/\(flow.id)")], ShownText.isolated(flow.name)),
                reader.person(of: flow).map { FlowRow.name($0, exchange) },
                flow.client.map { .of("code.soft", ShownText.isolated($0)) }, when), reason)
    }

    /// Returns the name of the person who signed in, with a link to that person's page.
    static func name(_ person: FlowReader.Person, _ exchange: Exchange) -> HTML {
        switch person {
        case .account(let account):
            exchange.link("people/\(Exchange.segment(account.id))", ShownText.isolated(account.title))
        case .text(let text): ShownText.isolated(text)
        }
    }

    private var reason: HTML? {
        if let failure = flow.failure {
            let style = flow.ending == .refused ? ".bad" : ""
            return .of("p.flow-why\(style)", ShownText.isolated(reader.reason(failure), limit: 2_000))
        }
        // Searching for advice parses bodies again, so it is only done if there is likely to be some.
        let advice = flow.awaitsRedemption ? reader.advice(on: flow.steps.map(\.known)) : []
        // The rest of it is on the sign-in's own page.
        let problem = advice.first { $0.weight == .problem }.map { advice in
            advice.text.firstRange(of: ". ").map { String(advice.text[..<$0.lowerBound]) + "." } ?? advice.text
        }
        return (problem ?? flow.hint).map { .of("p.flow-why.soft", ShownText.isolated($0, limit: 2_000)) }
    }

    /// The time of the sign-in by the test world's clock. In the browser, a script shows instead how long ago the
    /// sign-in was, measured by the machine's clock.
    private var when: HTML? {
        guard let text = flow.steps.first?.exchange.time.text else { return nil }
        return .of(
            "time.flow-when.soft",
            ["datetime": text, "title": text, "data-at": "\((flow.began + flow.duration) / 1_000)"],
            .text(String(text.dropFirst(11).prefix(8))))
    }

    /// Returns the text that screen readers announce when a sign-in appears in the list or changes.
    static func spoken(_ flow: Flow, _ reader: FlowReader) -> String {
        let reason = flow.failure.map { ": " + reader.reason($0) } ?? ""
        return ShownText.plain("\(flow.name), \(flow.ending.title.lowercased())\(reason)", limit: 400)
    }
}

extension Flow.Ending {
    /// The CSS classes of the badge that shows how a sign-in ended.
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
    /// The CSS class that gives a party its colour in the diagram.
    var style: String {
        switch self {
        case .app, .scenario: "app"
        case .browser: "browser"
        case .backend: "backend"
        case .provider, .nobody: "provider"
        }
    }
}
