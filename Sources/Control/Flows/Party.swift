import EmulatorCore
import HTTPServer

/// A party of a sign-in: a lifeline of its diagram.
package enum Party: Hashable, Sendable {
    case app
    case browser
    /// The client's server.
    case backend
    /// A provider, or a service that asks other providers, by its name in the seed.
    case provider(String, title: String, isService: Bool)
    /// The daemon itself: for a host that isn't played, and for messages that no request caused.
    case nobody
    /// A scenario's own calls.
    case scenario

    package init(_ provider: any Provider) {
        self = .provider(provider.name, title: provider.facts.title, isService: provider.facts.isService)
    }

    package var title: String {
        switch self {
        case .app: "App"
        case .browser: "Browser"
        case .backend: "Backend"
        case .provider(_, let title, _): title
        case .nobody: "Understudy"
        case .scenario: "Scenario"
        }
    }

    /// The name in `GET flows`: a provider's is the one in the seed.
    var name: String {
        switch self {
        case .app: "app"
        case .browser: "browser"
        case .backend: "backend"
        case .provider(let name, _, _): name
        case .nobody: "understudy"
        case .scenario: "scenario"
        }
    }

    /// The order from left to right: the client's side, then services, then the providers that they ask.
    package var place: Int {
        switch self {
        case .scenario: 0
        case .app: 1
        case .browser: 2
        case .backend: 3
        case .provider(_, _, let isService): isService ? 4 : 5
        case .nobody: 6
        }
    }
}

// MARK: - The sender of a request

extension Party {
    /// Returns the sender of a request. No request names it, so it follows from what only some parties send. The first
    /// rule that matches counts:
    ///
    /// 1. A request that the daemon sent itself is from the provider that was asked, or from a scenario.
    /// 2. A call of the control API that plays a sign-in on a device counts as the app's.
    /// 3. Firebase's SDKs for phones send the app's identifier: `X-Ios-Bundle-Identifier`, `X-Android-Package`.
    /// 4. Browsers send `Sec-Fetch-Mode` with every request, `Origin` with those of scripts, and accept HTML for a
    ///    page: <https://www.w3.org/TR/fetch-metadata/>. A request for an authorization endpoint or a page counts as a
    ///    browser's.
    /// 5. Only a client's server knows its secret or its assertion.
    /// 6. The systems' own HTTP clients on phones name themselves: `CFNetwork`, `Dalvik`, `okhttp`.
    /// 7. Every other request is a server's, such as one for key sets.
    static func sender(of exchange: RecordedExchange, at endpoint: Endpoint?, parent: Party?) -> Party {
        if exchange.parent != nil { return parent ?? .scenario }
        if endpoint?.isControl ?? false { return .app }
        let request = exchange.request
        if request.header("X-Ios-Bundle-Identifier") != nil || request.header("X-Android-Package") != nil {
            return .app
        }
        if isBrowser(request, at: endpoint?.traits) { return .browser }
        if exchange.notes.hasClientSecret || hasBasicCredentials(request) { return .backend }
        let agent = request.header("User-Agent") ?? ""
        return ["CFNetwork/", "Dalvik/", "okhttp/"].contains { agent.contains($0) } ? .app : .backend
    }

    private static func isBrowser(_ request: Request, at traits: EndpointTraits?) -> Bool {
        request.header("Sec-Fetch-Mode") != nil || request.header("Origin") != nil
            || request.header("Accept")?.contains("text/html") ?? false
            || traits?.authorizes ?? false || !(traits?.answersJSON ?? true)
    }

    private static func hasBasicCredentials(_ request: Request) -> Bool {
        request.header("Authorization")?.lowercased().hasPrefix("basic ") ?? false
    }
}
