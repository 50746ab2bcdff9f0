import Control
import EmulatorCore
import HTTPServer

/// An exchange of a flow, with its purpose and its two parties.
struct FlowStep: Sendable {
    let known: KnownExchange
    let step: Step
    let sender: Party
    let receiver: Party
    /// Whether the daemon itself sent it, for another exchange of the flow.
    let isInner: Bool

    var exchange: RecordedExchange { known.exchange }

    /// Whether it was refused, failed, or broken off.
    var isFailed: Bool {
        switch exchange.response.delivery {
        case .dropped, .cut: true
        case .whole, .stream:
            exchange.diagnosis != nil || exchange.fault != nil || exchange.response.status >= 400
                || exchange.response.status == 0
        }
    }

    /// Whether it is a device's poll before the person has decided.
    var isPending: Bool { ["authorization_pending", "slow_down"].contains(exchange.notes.error) }

    /// Whether the person refused, or was ordered to.
    var isCancelled: Bool {
        guard exchange.fault == nil, let error = exchange.notes.error else { return false }
        return ["access_denied", "user_cancelled_authorize", "canceled", "cancelled", "user_denied"].contains(error)
    }
}

/// A sign-in: the exchanges that belong together, and their outcome.
struct Flow: Sendable {
    enum Ending: Sendable {
        case signedIn
        case refused
        case cancelled
        /// An ordered fault made it fail.
        case faulted
        case underWay
        /// The flow wasn't meant to sign anybody in.
        case answered
        /// The tokens were revoked, or the person signed out.
        case signedOut
    }

    /// The ID of its first exchange.
    let id: String
    /// The steps, in the order in which they were answered.
    let steps: [FlowStep]
    let ending: Ending
    /// The step that made it fail, if it failed.
    let failure: FlowStep?

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
                ending = .underWay
            } else if step.isCancelled {
                (ending, failure) = (.cancelled, step)
            } else if step.isFailed {
                (ending, failure) = (step.exchange.fault == nil ? .refused : .faulted, step)
            } else if let next = ending.after(step) {
                ending = next
                failure = nil
            }
        }
        return (ending, failure)
    }

    // MARK: - Name

    /// Whether it is only a request for a key set or a discovery document.
    var isQuiet: Bool {
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
    var title: String {
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
    var name: String {
        let title = ShownText.plain(title, limit: 100)
        guard !providers.isEmpty else { return title }
        let names = providers.map(\.title).joined(separator: ", ")
        return kind.map { "\(names) \($0)" } ?? "\(names): \(title)"
    }

    /// The providers that took part, services first.
    var providers: [Party] {
        Set(steps.flatMap { [$0.receiver, $0.sender] }).filter { if case .provider = $0 { true } else { false } }
            .sorted { ($0.place, $0.title) < ($1.place, $1.title) }
    }

    var client: String? { steps.lazy.compactMap(\.known.client).first }

    // MARK: - Times

    /// The start by the machine's time, in microseconds since 1970.
    var began: Int64 { steps.map(\.exchange.began).min() ?? 0 }
    private var ended: Int64 { steps.map { $0.exchange.began + $0.exchange.duration }.max() ?? 0 }
    /// The duration in microseconds.
    var duration: Int64 { max(0, ended - began) }

    /// The microseconds during which no request was being answered: a person was reading, or a device waited between
    /// polls.
    var waiting: Int64 {
        var (waiting, reached): (Int64, Int64) = (0, began)
        for step in steps.sorted(by: { $0.exchange.began < $1.exchange.began }) {
            waiting += max(0, step.exchange.began - reached)
            reached = max(reached, step.exchange.began + step.exchange.duration)
        }
        return waiting
    }

    /// The number of exchanges that had been recorded before its last one: greater for more recent activity.
    var order: Int { steps.last?.exchange.order ?? 0 }

    // MARK: - Next step

    /// Whether it ends with a code that hasn't been redeemed.
    var awaitsRedemption: Bool {
        guard ending == .underWay, let last = steps.last(where: { !$0.isInner }) else { return false }
        return last.exchange.notes.given.contains { ["code", "authorizationcode"].contains($0) }
    }

    /// A sentence about what an unfinished sign-in waits for; `nil` for others.
    var hint: String? {
        guard ending == .underWay, let last = steps.last(where: { !$0.isInner }) else { return nil }
        if awaitsRedemption { return "The code was given out, and nobody has redeemed it." }
        if last.isPending { return "The person hasn't decided yet: the device goes on asking." }
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
            return given.contains("mfapendingcredential") ? .underWay : (givesTokens ? .signedIn : nil)
        case .authorization, .decision, .pushedRequest, .deviceCode:
            if givesTokens { return .signedIn }
            return self == .signedIn ? nil : .underWay
        case .revocation, .logout: return .signedOut
        case .userInfo, .api, .introspection, .keySet, .discovery, .page, .message, .other: return nil
        }
    }

    var title: String {
        switch self {
        case .signedIn: "Signed in"
        case .refused: "Refused"
        case .cancelled: "Cancelled"
        case .faulted: "Fault"
        case .underWay: "Unfinished"
        case .answered: "Answered"
        case .signedOut: "Signed out"
        }
    }

    /// The class of its badge.
    var style: String {
        switch self {
        case .signedIn: "badge good"
        case .refused: "badge bad"
        case .cancelled, .faulted: "badge warn"
        case .underWay: "badge info"
        case .answered, .signedOut: "badge"
        }
    }
}

extension String {
    var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
