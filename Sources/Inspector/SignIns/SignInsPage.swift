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
                choice("Unfinished only", "unfinished", filter.isUnfinished),
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
        (isUnfinished, takesQuiet) = (form["unfinished"] != nil, form["all"] != nil)
    }

    fileprivate var isEmpty: Bool {
        provider == nil && client == nil && isRefused == nil && !isUnfinished && text == nil
    }

    /// Returns the filter as a query, with more fields.
    fileprivate func query(_ more: [(String, String)] = []) -> String {
        var fields = [("provider", provider), ("client", client), ("q", text)].compactMap { name, value in
            value.map { (name, $0) }
        }
        if isRefused == true { fields.append(("refused", "1")) }
        if isUnfinished { fields.append(("unfinished", "1")) }
        if takesQuiet { fields.append(("all", "1")) }
        return Form(fields: (fields + more).map { Form.Field(name: $0.0, value: $0.1) }).encoded
    }
}
