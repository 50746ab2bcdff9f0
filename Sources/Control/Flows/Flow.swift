import EmulatorCore
import HTTPServer
import JSON
import Recordings

/// A step of a sign-in: a recorded request and its response, with the request's purpose, sender and receiver.
package struct FlowStep: Sendable {
    package let known: KnownExchange
    package let step: SignInStep
    package let sender: Party
    package let receiver: Party
    /// Whether the daemon itself sent the request of this step, as a consequence of another request of the sign-in.
    package let isInner: Bool

    package var exchange: RecordedExchange { known.exchange }

    /// Whether the request of this sign-in step was refused, failed, got no complete response, or met a fault that may
    /// break the sign-in.
    package var isFailed: Bool {
        switch exchange.response.delivery {
        case .dropped, .cut: true
        case .whole, .stream:
            exchange.diagnosis != nil || exchange.response.status >= 400 || isFaulted || exchange.response.status == 0
        }
    }

    /// Whether a requested fault that may break the sign-in was applied in this step. A client must survive other
    /// faults, such as a delay or JSON members in another order.
    fileprivate var isFaulted: Bool { exchange.fault.map { !Fault.isLegal($0) } ?? false }

    /// Whether this step of a sign-in failed because of a fault that a test requested, and not because of a mistake in
    /// the step's request.
    fileprivate var isOrdered: Bool {
        isFaulted || exchange.fault != nil && (exchange.diagnosis?.hasPrefix("ordered fault") ?? true)
    }

    /// Whether this step of a sign-in is a device's poll for tokens, and the user hasn't yet allowed or refused the
    /// sign-in.
    package var isPending: Bool { ["authorization_pending", "slow_down"].contains(exchange.notes.error) }

    /// Whether the user cancelled the sign-in, or a test simulated that.
    package var isCancelled: Bool {
        guard !isFaulted, let error = exchange.notes.error else { return false }
        return ["access_denied", "user_cancelled_authorize", "canceled", "cancelled", "user_denied"].contains(error)
    }
}

/// A sign-in: the recorded requests and responses that belong together, and how the sign-in ended.
package struct Flow: Sendable {
    package enum Ending: String, CaseIterable, Sendable {
        case signedIn
        case refused
        case cancelled
        /// The sign-in failed because of a requested fault.
        case faulted
        case unfinished
        /// The recorded requests, such as a request for a key set, weren't meant to sign anybody in.
        case answered
        /// The recorded requests are a sign-out or a revocation without a recorded sign-in before it.
        case signedOut
    }

    /// The sign-in's ID, which is the ID of its first recorded request.
    package let id: String
    /// The sign-in's steps, in the order in which they were answered.
    package let steps: [FlowStep]
    package let ending: Ending
    /// The step at which the sign-in was refused, cancelled, or stopped by a fault; `nil` if none of these happened.
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

    /// Whether the recorded requests only fetch key sets or discovery documents.
    package var isQuiet: Bool {
        failure == nil && steps.allSatisfy { [.keySet, .discovery].contains($0.step.kind) }
    }

    /// The kind of sign-in in words, such as "web sign-in", which is shown as the sign-in's title. `nil` if the title
    /// is that of one of the sign-in's requests, such as "Google One Tap", or if the kind is unknown.
    private var kind: String? {
        guard
            !steps.contains(where: { $0.step.kind == .service || $0.step.kind == .authorization && !$0.step.isOrdinary }
            )
        else { return nil }
        let kinds = Set(steps.map(\.step.kind))
        return Flow.titles.first { !kinds.isDisjoint(with: $0.kinds) }?.title
    }

    private var title: String {
        if let service = steps.last(where: { $0.step.kind == .service }) { return service.step.label.capitalizedFirst }
        // A request of a provider's script for browsers has a name of its own: "Google One Tap".
        if let own = steps.first(where: { $0.step.kind == .authorization && !$0.step.isOrdinary }) {
            return own.step.label.capitalizedFirst
        }
        if let kind { return kind.capitalizedFirst }
        return (steps.first?.step.label ?? "request").capitalizedFirst
    }

    private static let titles: [(kinds: Set<SignInStep.Kind>, title: String)] = [
        ([.native], "native sign-in"), ([.deviceCode, .devicePoll], "device sign-in"),
        ([.authorization, .decision, .pushedRequest], "web sign-in"), ([.redemption], "code redemption"),
        ([.tokenExchange], "token exchange"), ([.clientCredentials], "client's own token"),
        ([.refresh], "token refresh"), ([.logout], "sign-out"), ([.revocation], "revocation"),
    ]

    /// The sign-in's name, which begins with the provider, such as "Apple web sign-in".
    package var name: String {
        let title = BoundedText.shortened(title, to: 100)
        guard !providers.isEmpty else { return title }
        let names = providers.map(\.title).joined(separator: ", ")
        return kind.map { "\(names) \($0)" } ?? "\(names): \(title)"
    }

    /// The identity providers that took part in the sign-in. Services that ask other providers, such as Firebase, come
    /// first.
    package var providers: [Party] {
        Set(steps.flatMap { [$0.receiver, $0.sender] }).filter { if case .provider = $0 { true } else { false } }
            .sorted { ($0.place, $0.title) < ($1.place, $1.title) }
    }

    /// The seed's names for the providers that took part in the sign-in.
    package var providerNames: [String] {
        providers.compactMap { if case .provider(let name, _, _) = $0 { name } else { nil } }
    }

    package var client: String? { steps.lazy.compactMap(\.known.client).first }

    // MARK: - Times

    /// The time at which the sign-in began, by the machine's clock, in microseconds since 1970.
    package var began: Int64 { steps.map(\.exchange.began).min() ?? 0 }
    private var ended: Int64 { steps.map { $0.exchange.began + $0.exchange.duration }.max() ?? 0 }
    /// The sign-in's duration in microseconds.
    package var duration: Int64 { max(0, ended - began) }

    /// The microseconds of the sign-in during which no request was being answered, for example because a person was
    /// reading or a device waited between polls.
    package var waiting: Int64 {
        var (waiting, reached): (Int64, Int64) = (0, began)
        for step in steps.sorted(by: { $0.exchange.began < $1.exchange.began }) {
            waiting += max(0, step.exchange.began - reached)
            reached = max(reached, step.exchange.began + step.exchange.duration)
        }
        return waiting
    }

    /// The position of the sign-in's most recent request in the recording. A later request has a greater position.
    package var order: Int { steps.last?.exchange.order ?? 0 }

    // MARK: - Next step

    /// Whether the sign-in is unfinished because its authorization code hasn't been redeemed.
    package var awaitsRedemption: Bool {
        guard ending == .unfinished, let last = steps.last(where: { !$0.isInner }) else { return false }
        return last.exchange.notes.given.contains { ["code", "authorizationcode"].contains($0) }
    }

    /// A sentence that says what an unfinished sign-in waits for; `nil` for a sign-in that has ended.
    package var hint: String? {
        guard ending == .unfinished, let last = steps.last(where: { !$0.isInner }) else { return nil }
        if awaitsRedemption { return "The authorization code was issued, but hasn't been redeemed." }
        if last.isPending {
            return "The user hasn't decided yet whether to allow the sign-in, and the device keeps polling."
        }
        if last.step.kind == .deviceCode { return "The device shows its user code, but no user has entered it." }
        if steps.contains(where: { $0.step.kind == .deviceCode }) {
            return "The user has opened the page for the device's code, and the device hasn't polled since."
        }
        if steps.contains(where: { $0.exchange.notes.given.contains("mfapendingcredential") }) {
            return "A second factor is required, and the user hasn't given it."
        }
        return "The provider's page waits for the user's input."
    }
}

extension Flow.Ending {
    /// Returns the state of a sign-in, such as signed in or unfinished, after `step` has succeeded; `nil` if the step
    /// doesn't change the state.
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

    /// Returns the names of what a response issued, such as "code", or "ID token with nonce, access token".
    package static func words(for notes: ExchangeNotes) -> String {
        var names: [String] = []
        for name in notes.given {
            guard var word = words[name] else { continue }
            if word == "ID token", notes.hasNonce { word += " with nonce" }
            if !names.contains(word) { names.append(word) }
        }
        return names.joined(separator: ", ")
    }

    /// Returns an error's name, without the description that may follow it.
    package static func name(ofError error: String) -> String {
        BoundedText.shortened(String(error.prefix { $0 != " " }), to: 60)
    }

    /// The step's response in a few words, such as "302 code", "400 invalid_grant", or "closed without an answer".
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

/// A party of a sign-in, such as the app, the browser or a provider. The sign-in's sequence diagram has a lifeline for
/// each.
package enum Party: Hashable, Sendable {
    case app
    case browser
    /// The server of the client (the app under test).
    case backend
    /// An identity provider, or a service that asks other providers, such as Firebase. The first associated value is
    /// the provider's or service's name in the seed.
    case provider(String, title: String, isService: Bool)
    /// The daemon itself: it receives requests for hosts that it doesn't impersonate, and sends messages whose cause
    /// isn't a recorded request to a provider.
    case nobody
    /// A scenario (a ready-made test situation) that sends requests by itself.
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

    /// The party's name in the answers of `GET flows`, which for a provider is its name in the seed.
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

    /// The party's place in a sequence diagram, from left to right: a scenario, the app, the browser, the app's server,
    /// services such as Firebase, other providers, and the daemon.
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
    /// Returns the party that sent a request. No request names its sender, so the sender follows from what only some
    /// parties send. The first rule that matches counts:
    ///
    /// 1. A request that the daemon sent while a provider answered another request is from that provider. A request
    ///    that a scenario caused is from the scenario.
    /// 2. A call of the control API that performs a sign-in on a device counts as the app's.
    /// 3. Firebase's SDKs for phones send the app's identifier: `X-Ios-Bundle-Identifier`, `X-Android-Package`.
    /// 4. Browsers send `Sec-Fetch-Mode` with every request, `Origin` with requests of scripts, and accept HTML for a
    ///    page: <https://www.w3.org/TR/fetch-metadata/>. A request for an authorization endpoint or a page counts as a
    ///    browser's.
    /// 5. Only a client's server knows the client's secret or assertion.
    /// 6. The systems' own HTTP clients on phones name themselves: `CFNetwork`, `Dalvik`, `okhttp`.
    /// 7. Every other request, such as one for key sets, is from the client's server.
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
