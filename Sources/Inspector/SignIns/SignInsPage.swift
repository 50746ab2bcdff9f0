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
            form("flows/empty") { exchange, _ in await emptyRecording(exchange) },
            page("GET", "flows/:id") { try await flow($0) },
        ]
    }

    func signIns(_ exchange: Exchange) async throws -> Response {
        let form = exchange.request.queryForm
        let (reader, filter) = (FlowReader(control, exchange.world), FlowFilter(form))
        let before = form["before"].flatMap { FlowPlace($0) }
        return try await exchange.world.recording.search {
            let flows = FlowPage(reader, filter, before: before)
            return page(
                exchange, .signIns, title: "Sign-ins", scripts: before == nil ? ["follow", "signins"] : ["signins"],
                lead: lead(exchange),
                [filterForm(exchange, filter)] + list(exchange, flows, filter, reader, before: before))
        }
    }

    private func lead(_ exchange: Exchange) -> [HTML] {
        [
            liveButton,
            .tag(
                "div", [("class", "row flow-buttons")],
                .tag(
                    "a",
                    [
                        ("class", "button quiet small"), ("href", exchange.inspector("flows/har")),
                        ("download", "\(exchange.world.name).har"),
                    ], "Save all as HAR"),
                form(
                    to: "flows/empty", exchange, [],
                    [.tag("button", [("class", "danger small")], "Empty the recording")])),
        ]
    }

    // MARK: - The filter

    private func filterForm(_ exchange: Exchange, _ filter: FlowFilter) -> HTML {
        let options = [("", "All")] + providers.map { ($0.name, type(of: $0).title) }
        let select = HTML.element(
            "select", attributes: [(name: "name", value: "provider")],
            children: options.map { option in
                .tag(
                    "option", [("value", option.0)] + (option.0 == filter.provider ?? "" ? [("selected", nil)] : []),
                    option.1
                )
            })
        return .tag(
            "form",
            [("class", "flow-filter"), ("method", "get"), ("action", exchange.inspector()), ("role", "search")],
            .tag("label", [], .text("Provider"), select), field("Client", "client", filter.client ?? ""),
            field("Text", "q", filter.text ?? ""),
            .tag(
                "div", [("class", "flow-choices")], choice("Refused only", "refused", filter.isRefused ?? false),
                choice("Unfinished only", "unfinished", filter.isUnfinished ?? false),
                choice("Key sets and discovery, too", "all", filter.takesQuiet)),
            .tag("button", [("class", "quiet orders-unscripted")], "Show"))
    }

    private func field(_ label: String, _ name: String, _ value: String) -> HTML {
        .tag(
            "label", [], .text(label),
            .tag("input", [("type", "search"), ("name", name), ("value", value), ("autocomplete", "off")]))
    }

    private func choice(_ label: String, _ name: String, _ isOn: Bool) -> HTML {
        .tag(
            "label", [("class", "choice")],
            .tag(
                "input",
                [("type", "checkbox"), ("name", name), ("value", "1")] + (isOn ? [("checked", nil)] : [])),
            .text(label))
    }

    // MARK: - The list

    private func list(
        _ exchange: Exchange, _ page: FlowPage, _ filter: FlowFilter, _ reader: FlowReader, before: FlowPlace?
    ) -> [HTML] {
        let rows = page.flows.map { FlowRow(flow: $0, reader: reader, exchange: exchange).html }
        let empty: [(String, String?)] = [("class", "empty"), ("id", "no-flows")]
        var content: [HTML] = [
            rows.isEmpty ? .tag("div", empty, nothing(exchange, page, filter, before)) : .group([]),
            .element(
                "ol", attributes: [(name: "class", value: "flows"), (name: "id", value: "flows")], children: rows),
        ]
        if let next = page.next {
            let older = exchange.inspector("?\(filter.query([("before", next.text)]))")
            content.append(
                .tag("p", [("class", "flow-more")], .tag("a", [("id", "older"), ("href", older)], "Older ones")))
        }
        if before != nil {
            content.append(.tag("p", [], .link("Back to the newest", to: exchange.inspector("?\(filter.query())"))))
        }
        // A page of older sign-ins isn't updated.
        let attributes: [(name: String, value: String?)] = [(name: "id", value: "sign-ins")]
        return [
            .element(
                "div", attributes: before == nil ? attributes + [(name: "data-follow", value: nil)] : attributes,
                children: content)
        ]
    }

    private func nothing(_ exchange: Exchange, _ page: FlowPage, _ filter: FlowFilter, _ before: FlowPlace?) -> HTML {
        if before != nil { return .tag("p", [], "There are no older ones.") }
        if page.isRecorded, filter.isEmpty {
            return .tag("p", [], "Nobody has tried to sign in: only key sets and discovery documents were asked for.")
        }
        if page.isRecorded || !filter.isEmpty {
            return .tag(
                "p", [], .text("Nothing fits the filter. A code, a state or a nonce is found by "),
                .link("Explain", to: exchange.inspector(Area.explain.rawValue)), .text("."))
        }
        let links = tryOut(exchange)
        return .group([
            .tag("p", [], links.map { _ in "No sign-ins yet. Try one:" } ?? "No sign-ins yet."), links ?? .group([]),
            .tag(
                "p", [], .link("Point your app here", to: exchange.inspector(Area.setUp.rawValue)),
                .text(", and each sign-in shows up as it happens.")),
        ])
    }

    /// Answers with the whole recording, or one flow of it, as a HAR file.
    private func archive(_ exchange: Exchange) async throws -> Response {
        let flow = exchange.request.queryForm["flow"]
        return try await exchange.world.recording.search {
            let known = exchange.world.recording.known().exchanges
            return control.archive(of: flow.map { flow in known.filter { $0.flow == flow } } ?? known)
        }
    }

    private func emptyRecording(_ exchange: Exchange) async -> Response {
        do throws(CallRefusal) {
            _ = try await call("DELETE", "requests", in: exchange)
            return changed(exchange, show: "")
        } catch {
            return page(
                exchange, .signIns, title: "Sign-ins", status: error.status,
                [.tag("p", [("class", "note bad"), ("role", "alert")], error.message)])
        }
    }
}

extension FlowFilter {
    /// Reads the query of the list's address.
    fileprivate init(_ form: Form) {
        self.init()
        func text(_ name: String) -> String? { form[name].flatMap { $0.isEmpty ? nil : $0 } }
        (provider, client, self.text) = (text("provider"), text("client"), text("q"))
        isRefused = form["refused"] != nil ? true : nil
        isUnfinished = form["unfinished"] != nil ? true : nil
        takesQuiet = form["all"] != nil
    }

    fileprivate var isEmpty: Bool {
        provider == nil && client == nil && isRefused == nil && isUnfinished == nil && text == nil
    }

    /// Returns the filter as a query, with more fields.
    fileprivate func query(_ more: [(String, String)] = []) -> String {
        var fields = [("provider", provider), ("client", client), ("q", text)].compactMap { name, value in
            value.map { (name, $0) }
        }
        if isRefused == true { fields.append(("refused", "1")) }
        if isUnfinished == true { fields.append(("unfinished", "1")) }
        if takesQuiet { fields.append(("all", "1")) }
        return Form(fields: (fields + more).map { Form.Field(name: $0.0, value: $0.1) }).encoded
    }
}

/// A page of the list of flows, the newest first.
struct FlowPage: Sendable {
    static let size = 50

    let flows: [Flow]
    /// The `before` of the next page; `nil` if there are no more.
    let next: FlowPlace?
    /// Whether the recording has any exchanges.
    let isRecorded: Bool

    /// Makes a page. `before` is the position of the last flow of the page before.
    init(_ reader: FlowReader, _ filter: FlowFilter, before: FlowPlace?) {
        isRecorded = !reader.world.recording.known(limit: 1).exchanges.isEmpty
        let flows = reader.flows(filter, before: before, limit: FlowPage.size + 1)
        next = flows.count > FlowPage.size ? FlowPlace(of: flows[FlowPage.size - 1].steps.map(\.known)) : nil
        self.flows = Array(flows.prefix(FlowPage.size))
    }
}

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
