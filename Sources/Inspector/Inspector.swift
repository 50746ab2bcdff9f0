import Control
import EmulatorCore
import HTTPServer

/// The inspector: pages for people, which show what has happened in a world and change what happens next.
///
/// Each area has a folder with its pages and its endpoints. A page works without scripts. It makes changes by calls of
/// the control API, so that each rule and each refusal is written once. No page has a script or a style in it: all are
/// files in the folder `Assets`.
package struct Inspector: Sendable {
    /// The path of the pages, below the world's address.
    package static let root = "/_understudy"

    let control: ControlAPI
    let providers: [any Provider]
    let version: String
    /// The scenarios with which every world begins.
    let chosen: [Scenario]
    let formToken: FormToken
    /// Finds the endpoints that have answered recorded exchanges.
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

    /// All pages. They aren't recorded, and no fault can be ordered at them.
    package var endpoints: [Endpoint] {
        [Endpoint("GET", [], Inspector.root, nil) { toFirstPage($0) }]
            + signInsEndpoints + exchangeEndpoints + explainEndpoints + peopleEndpoints + userEndpoints
            + orderEndpoints + settingsEndpoints
            + helpEndpoints + assetEndpoints
            + inboxEndpoints + tokenEndpoints + tryOutEndpoints
    }

    /// Answers `/`: browsers get the first page. Programs, which don't accept HTML, get the JSON by which they
    /// recognize an emulator.
    package func home(_ exchange: Exchange) async throws -> Response {
        // Scripts of any origin may request that JSON, but not read the page.
        guard exchange.request.header("Origin") == nil,
            exchange.request.header("Accept")?.contains("text/html") ?? false
        else { return control.mark() }
        if let refusal = refusal(of: exchange) { return refusal }
        return try await signIns(exchange)
    }

    private func toFirstPage(_ exchange: Exchange) -> Response { .redirect(to: exchange.inspector(), status: 303) }
}

extension Exchange {
    /// Returns the URL of the inspector's page at `path`, such as `people/ada`, in the request's world.
    func inspector(_ path: String = "") -> String { "\(address.ownBase)\(Inspector.root)/\(path)" }
}
