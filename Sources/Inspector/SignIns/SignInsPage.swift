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
            page("GET", "") { try await signIns($0) }, page("GET", "flows/events") { try await flowEvents($0) },
            page("GET", "flows/har") { try await archive($0) },
            form("flows/empty") { exchange, _ in await emptyRecording(exchange) },
            page("GET", "flows/:id") { try await flow($0) },
        ]
    }

    func reader(_ exchange: Exchange) -> FlowReader {
        FlowReader(control: control, finder: finder.value, providers: providers, world: exchange.world) {
            advice(on: $0, in: $1)
        }
    }

    func signIns(_ exchange: Exchange) async throws -> Response {
        let form = exchange.request.queryForm
        let (reader, filter) = (reader(exchange), FlowFilter(form))
        let before = form["before"].flatMap { FlowPlace($0) }
        return try await exchange.world.recording.search {
            let flows = FlowPage(reader, filter, before: before)
            return page(
                exchange, .signIns, title: "Sign-ins", scripts: ["signins"], lead: lead(exchange),
                [filterForm(exchange, filter)] + list(exchange, flows, filter, reader, before: before))
        }
    }

    private func lead(_ exchange: Exchange) -> [HTML] {
        let live = HTML.tag(
            "button",
            [
                ("type", "button"), ("class", "quiet small needs-script live"), ("id", "live"),
                ("aria-pressed", "true"),
            ], "Live")
        return [
            live,
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
                    "option", [("value", option.0)] + (option.0 == filter.provider ? [("selected", nil)] : []), option.1
                )
            })
        return .tag(
            "form",
            [("class", "flow-filter"), ("method", "get"), ("action", exchange.inspector()), ("role", "search")],
            .tag("label", [], .text("Provider"), select), field("Client", "client", filter.client),
            field("Text", "q", filter.text),
            .tag(
                "div", [("class", "flow-choices")], choice("Refused only", "refused", filter.isRefused),
                choice("Unfinished only", "unfinished", filter.isUnfinished),
                choice("Key sets and discovery, too", "all", filter.showsQuiet)),
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
        // A page of older sign-ins isn't updated.
        var attributes: [(name: String, value: String?)] = [
            (name: "class", value: "flows"), (name: "id", value: "flows"),
        ]
        if before == nil {
            attributes += [
                (name: "data-events", value: exchange.inspector("flows/events?\(filter.query())")),
                (name: "data-after", value: String(page.end)), (name: "data-run", value: formToken.run),
            ]
        }
        let empty: [(String, String?)] = [("class", "empty"), ("id", "no-flows")]
        var content: [HTML] = [
            .tag("div", rows.isEmpty ? empty : empty + [("hidden", nil)], nothing(exchange, page, filter, before)),
            .element("ol", attributes: attributes, children: rows),
        ]
        if let next = page.next {
            let older = exchange.inspector("?\(filter.query([("before", next.text)]))")
            content.append(
                .tag("p", [("class", "flow-more")], .tag("a", [("id", "older"), ("href", older)], "Older ones")))
        }
        if before != nil {
            content.append(.tag("p", [], .link("Back to the newest", to: exchange.inspector("?\(filter.query())"))))
        }
        return content
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
