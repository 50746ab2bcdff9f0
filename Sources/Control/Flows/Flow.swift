import EmulatorCore
import HTTPServer
import JSON
import Recordings

/// An exchange of a flow, with its purpose and its two parties.
package struct FlowStep: Sendable {
    package let known: KnownExchange
    package let step: Step
    package let sender: Party
    package let receiver: Party
    /// Whether the daemon itself sent it, for another exchange of the flow.
    package let isInner: Bool

    package var exchange: RecordedExchange { known.exchange }

    /// Whether the step was refused, failed, or was broken off.
    package var isFailed: Bool {
        switch exchange.response.delivery {
        case .dropped, .cut: true
        case .whole, .stream:
            exchange.diagnosis != nil || exchange.response.status >= 400 || isFaulted || exchange.response.status == 0
        }
    }

    /// Whether a fault was ordered that a client needn't survive.
    fileprivate var isFaulted: Bool { exchange.fault.map { !Fault.isLegal($0) } ?? false }

    /// Whether the failure was ordered, rather than a refusal that also came late.
    fileprivate var isOrdered: Bool {
        isFaulted || exchange.fault != nil && (exchange.diagnosis?.hasPrefix("ordered fault") ?? true)
    }

    /// Whether the step is a device's poll before the person has decided.
    package var isPending: Bool { ["authorization_pending", "slow_down"].contains(exchange.notes.error) }

    /// Whether the person refused, or was ordered to.
    package var isCancelled: Bool {
        guard !isFaulted, let error = exchange.notes.error else { return false }
        return ["access_denied", "user_cancelled_authorize", "canceled", "cancelled", "user_denied"].contains(error)
    }
}

/// A sign-in: the exchanges that belong together, and their outcome.
package struct Flow: Sendable {
    package enum Ending: String, CaseIterable, Sendable {
        case signedIn
        case refused
        case cancelled
        /// An ordered fault made it fail.
        case faulted
        case unfinished
        /// The flow wasn't meant to sign anybody in.
        case answered
        /// A sign-out or a revocation that no sign-in in the recording precedes.
        case signedOut
    }

    /// The flow's ID, which is the ID of its first exchange.
    package let id: String
    /// The steps, in the order in which they were answered.
    package let steps: [FlowStep]
    package let ending: Ending
    /// The step that made it fail, if it failed.
    package let failure: FlowStep?

    init(_ id: String, _ steps: [FlowStep]) {
        self.id = id
        self.steps = steps
        let own = steps.filter { !$0.isInner }
        (ending, failure) = Flow.outcome(of: own.isEmpty ? steps : own)
    }

    private static func outcome(of steps: [FlowStep]) -> (Ending, FlowStep?) {
        var ending = Ending.answered
        var failure: FlowStep?
        for step in steps {
            if step.isPending {
                ending = .unfinished
            } else if step.isCancelled {
                (ending, failure) = (.cancelled, step)
            } else if step.isFailed {
                (ending, failure) = (step.isOrdered ? .faulted : .refused, step)
            } else if let next = ending.after(step) {
                ending = next
                failure = nil
            }
        }
        return (ending, failure)
    }

    // MARK: - Name

    /// Whether the flow is only a request for a key set or a discovery document.
    package var isQuiet: Bool {
        failure == nil && steps.allSatisfy { [.keySet, .discovery].contains($0.step.kind) }
    }

    /// The flow's name, if it is one of the usual kinds: "web sign-in"; `nil` if it has a name of its own.
    private var kind: String? {
        guard
            !steps.contains(where: { $0.step.kind == .service || $0.step.kind == .authorization && !$0.step.isOrdinary }
            )
        else { return nil }
        let kinds = Set(steps.map(\.step.kind))
        return Flow.titles.first { !kinds.isDisjoint(with: $0.kinds) }?.title
    }

    /// The title, such as "Web sign-in".
    private var title: String {
        if let service = steps.last(where: { $0.step.kind == .service }) { return service.step.label.capitalizedFirst }
        // A request of a provider's script for browsers has a name of its own: "Google One Tap".
        if let own = steps.first(where: { $0.step.kind == .authorization && !$0.step.isOrdinary }) {
            return own.step.label.capitalizedFirst
        }
        if let kind { return kind.capitalizedFirst }
        return (steps.first?.step.label ?? "request").capitalizedFirst
    }

    private static let titles: [(kinds: Set<Step.Kind>, title: String)] = [
        ([.native], "native sign-in"), ([.deviceCode, .devicePoll], "device sign-in"),
        ([.authorization, .decision, .pushedRequest], "web sign-in"), ([.redemption], "code redemption"),
        ([.tokenExchange], "token exchange"), ([.clientCredentials], "client's own token"),
        ([.refresh], "token refresh"), ([.logout], "sign-out"), ([.revocation], "revocation"),
    ]

    /// The title with the provider: "Apple web sign-in".
    package var name: String {
        let title = Place.shortened(title, to: 100)
        guard !providers.isEmpty else { return title }
        let names = providers.map(\.title).joined(separator: ", ")
        return kind.map { "\(names) \($0)" } ?? "\(names): \(title)"
    }

    /// The providers that took part, services first.
    package var providers: [Party] {
        Set(steps.flatMap { [$0.receiver, $0.sender] }).filter { if case .provider = $0 { true } else { false } }
            .sorted { ($0.place, $0.title) < ($1.place, $1.title) }
    }

    /// The names of the flow's providers in the seed.
    package var providerNames: [String] {
        providers.compactMap { if case .provider(let name, _, _) = $0 { name } else { nil } }
    }

    package var client: String? { steps.lazy.compactMap(\.known.client).first }

    // MARK: - Times

    /// The start by the machine's time, in microseconds since 1970.
    package var began: Int64 { steps.map(\.exchange.began).min() ?? 0 }
    private var ended: Int64 { steps.map { $0.exchange.began + $0.exchange.duration }.max() ?? 0 }
    /// The duration in microseconds.
    package var duration: Int64 { max(0, ended - began) }

    /// The microseconds during which no request was being answered: a person was reading, or a device waited between
    /// polls.
    package var waiting: Int64 {
        var (waiting, reached): (Int64, Int64) = (0, began)
        for step in steps.sorted(by: { $0.exchange.began < $1.exchange.began }) {
            waiting += max(0, step.exchange.began - reached)
            reached = max(reached, step.exchange.began + step.exchange.duration)
        }
        return waiting
    }

    /// The position of the flow's last exchange in the recording: the greater, the more recent.
    package var order: Int { steps.last?.exchange.order ?? 0 }

    // MARK: - Next step

    /// Whether the flow ends with a code that hasn't been redeemed.
    package var awaitsRedemption: Bool {
        guard ending == .unfinished, let last = steps.last(where: { !$0.isInner }) else { return false }
        return last.exchange.notes.given.contains { ["code", "authorizationcode"].contains($0) }
    }

    /// A sentence about what an unfinished sign-in waits for; `nil` for others.
    package var hint: String? {
        guard ending == .unfinished, let last = steps.last(where: { !$0.isInner }) else { return nil }
        if awaitsRedemption { return "The code was given out, and nobody has redeemed it." }
        if last.isPending { return "The person hasn't decided yet: the device goes on asking." }
        if last.step.kind == .deviceCode { return "The device shows its code, and nobody has entered it." }
        if steps.contains(where: { $0.step.kind == .deviceCode }) {
            return "The person has opened the page for the device's code, and the device hasn't asked since."
        }
        if steps.contains(where: { $0.exchange.notes.given.contains("mfapendingcredential") }) {
            return "A second factor is wanted, and nobody has given it."
        }
        return "The provider's page waits for the person."
    }
}

extension Flow.Ending {
    /// Returns the ending after a step that succeeded; `nil` if the step doesn't tell.
    fileprivate func after(_ step: FlowStep) -> Flow.Ending? {
        let given = step.exchange.notes.given
        let givesTokens = given.contains {
            ["idtoken", "accesstoken", "identitytoken", "authenticationtoken", "credential"].contains($0)
        }
        switch step.step.kind {
        case .redemption, .devicePoll, .native: return .signedIn
        case .service, .tokenExchange, .refresh, .clientCredentials:
            return given.contains("mfapendingcredential") ? .unfinished : (givesTokens ? .signedIn : nil)
        case .authorization, .decision, .pushedRequest, .deviceCode:
            if givesTokens { return .signedIn }
            return self == .signedIn ? nil : .unfinished
        // After a sign-in, it is a further step of that sign-in.
        case .revocation, .logout: return self == .signedIn ? nil : .signedOut
        case .userInfo, .api, .introspection, .keySet, .discovery, .page, .message, .other: return nil
        }
    }

    package var title: String {
        switch self {
        case .signedIn: "Signed in"
        case .refused: "Refused"
        case .cancelled: "Cancelled"
        case .faulted: "Fault"
        case .unfinished: "Unfinished"
        case .answered: "Answered"
        case .signedOut: "Signed out"
        }
    }
}

extension String {
    package var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}

// MARK: - Answers in words

extension FlowStep {
    private static let words: [String: String] = [
        "code": "code", "authorizationcode": "code", "accesstoken": "access token", "refreshtoken": "refresh token",
        "idtoken": "ID token", "identitytoken": "ID token", "authenticationtoken": "ID token",
        "devicecode": "device code", "sessioncookie": "session cookie", "mfapendingcredential": "second factor wanted",
    ]

    /// Returns the names of what was issued, such as "code", or "ID token with nonce, access token".
    package static func words(for notes: ExchangeNotes) -> String {
        var names: [String] = []
        for name in notes.given {
            guard var word = words[name] else { continue }
            if word == "ID token", notes.hasNonce { word += " with nonce" }
            if !names.contains(word) { names.append(word) }
        }
        return names.joined(separator: ", ")
    }

    /// Returns the name of an error, without the description that may follow it.
    package static func name(ofError error: String) -> String {
        Place.shortened(String(error.prefix { $0 != " " }), to: 60)
    }

    /// The answer in a few words, such as "302 code", "400 invalid_grant", or "closed without an answer".
    package var answer: String {
        let response = exchange.response
        switch response.delivery {
        case .dropped: return "closed without an answer"
        case .cut: return "\(response.status), broken off"
        case .whole, .stream: break
        }
        let notes = exchange.notes
        let status = response.status == 0 ? "no answer" : String(response.status)
        if let error = notes.error, isFailed || isPending || isCancelled {
            return "\(status) \(FlowStep.name(ofError: error))"
        }
        let words = FlowStep.words(for: notes)
        if !words.isEmpty { return "\(status) \(words)" }
        if (300..<400).contains(response.status), response.header("Location") != nil { return "\(status) redirect" }
        let isPage = response.header("Content-Type")?.mediaType == "text/html"
        return isPage ? "\(status) page" : status
    }
}

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
