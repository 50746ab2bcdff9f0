import Control
import EmulatorCore
import HTTPServer

/// The inspector: pages for people, which show what has happened in a world and change what happens next.
///
/// Each area has a folder with its pages and its endpoints. A page works without scripts; what it changes, it changes by a
/// call of the control API, so that each rule and each refusal is written once. No page holds a script or a style: all are
/// files of the folder `Assets`.
package struct Inspector: Sendable {
    /// Where the pages are, below the world's address.
    package static let root = "/_understudy"

    let control: ControlAPI
    let providers: [any Provider]
    let version: String
    /// The scenarios with which every world begins.
    let chosen: [Scenario]
    let formToken: FormToken
    /// Which endpoints have answered what is recorded.
    var finder: Lazy<EndpointFinder> { control.finder }

    package init(
        _ control: ControlAPI, providers: [any Provider], version: String, chosen: [Scenario], formToken: FormToken
    ) {
        self.control = control
        self.providers = providers
        self.version = version
        self.chosen = chosen
        self.formToken = formToken
    }

    /// All pages. None of them is recorded, or can be ordered to fail.
    package var endpoints: [Endpoint] {
        [Endpoint("GET", [], Inspector.root, nil) { toFirstPage($0) }]
            + signInsEndpoints + exchangeEndpoints + explainEndpoints + peopleEndpoints + userEndpoints
            + orderEndpoints + settingsEndpoints
            + helpEndpoints + assetEndpoints
            + inboxEndpoints + tokenEndpoints + tryOutEndpoints
    }

    /// `/`: the first page for browsers; for programs, which don't accept HTML, the JSON by which they recognize an emulator.
    package func home(_ exchange: Exchange) async throws -> Response {
        // Scripts of any origin may ask for the mark, but not read the page.
        guard exchange.request.header("Origin") == nil,
            exchange.request.header("Accept")?.contains("text/html") ?? false
        else { return control.mark() }
        if let refusal = refusal(of: exchange) { return refusal }
        return try await signIns(exchange)
    }

    private func toFirstPage(_ exchange: Exchange) -> Response { .redirect(to: exchange.inspector(), status: 303) }
}

extension Exchange {
    /// The URL of the inspector's page at `path`, such as `people/ada`, in the request's world.
    func inspector(_ path: String = "") -> String { "\(address.ownBase)\(Inspector.root)/\(path)" }
}
