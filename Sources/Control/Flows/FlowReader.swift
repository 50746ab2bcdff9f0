import EmulatorCore
import HTTPServer
import JSON
import Recordings

/// Reads sign-ins from a test world's recording of requests. Use it on the recording's dispatch queue, because reading a
/// recorded request for the first time takes some time.
package struct FlowReader: Sendable {
    package let control: ControlAPI
    package let world: World

    package init(_ control: ControlAPI, _ world: World) {
        self.control = control
        self.world = world
    }

    /// Groups recorded requests by sign-in. Each group is in the order in which its requests were answered, and the
    /// most recently active sign-in is first.
    static func grouped(_ known: [KnownExchange]) -> [[KnownExchange]] {
        var places: [String: Int] = [:]
        var flows: [[KnownExchange]] = []
        for exchange in known.reversed() {
            if let place = places[exchange.flow] {
                flows[place].append(exchange)
            } else {
                places[exchange.flow] = flows.count
                flows.append([exchange])
            }
        }
        return flows.map { $0.reversed() }
    }

    /// Returns the sign-ins that `filter` accepts, the most recently active first.
    ///
    /// - Parameters:
    ///   - before: the position of a sign-in; only sign-ins that were active less recently are returned.
    ///   - isWanted: a function that gets a sign-in's requests and responses, and returns `false` to leave out the
    ///     sign-in. It is called before `filter`, which takes more time.
    package func flows(
        _ filter: FlowFilter, before: FlowPlace? = nil, limit: Int = .max,
        where isWanted: ([KnownExchange]) -> Bool = { _ in true }
    ) -> [Flow] {
        var flows: [Flow] = []
        let all = FlowReader.grouped(world.recording.known().exchanges).map {
            (exchanges: $0, place: FlowPlace(of: $0))
        }
        for (exchanges, place) in all.sorted(by: { $0.place > $1.place }) where flows.count < limit {
            if let before, place >= before { continue }
            guard isWanted(exchanges) else { continue }
            let flow = flow(exchanges)
            if filter.matches(flow, self) { flows.append(flow) }
        }
        return flows
    }

    /// Returns the sign-in with this ID, or the sign-in to which the recorded request with this ID belongs.
    package func flow(_ id: String) -> Flow? {
        let known = world.recording.known().exchanges
        let name = known.contains { $0.flow == id } ? id : known.first { $0.exchange.id == id }?.flow
        return name.map { name in flow(known.filter { $0.flow == name }) }
    }

    package func flow(_ exchanges: [KnownExchange]) -> Flow {
        var receivers: [String: Party] = [:]
        let found = exchanges.map { known in
            let (provider, endpoint) = control.finder.value.find(known.exchange)
            receivers[known.exchange.id] = provider.map { Party($0) }
            return (known: known, provider: provider, endpoint: endpoint)
        }
        let steps = found.map { known, provider, endpoint in
            let parent = known.exchange.parent.map { receivers[$0] ?? .nobody }
            let isScenario = known.exchange.parent.map { RecordedExchange.number(of: $0) == nil } ?? false
            let sender = Party.sender(of: known.exchange, at: endpoint, parent: isScenario ? .scenario : parent)
            let isMessage = provider == nil && known.exchange.parent != nil && !isScenario
            let step =
                isMessage
                ? SignInStep(.message, "tell the client")
                : SignInStep(known.exchange, at: endpoint)
            return FlowStep(
                known: known, step: step, sender: sender,
                receiver: provider.map { Party($0) } ?? (isMessage ? .backend : .nobody),
                isInner: known.exchange.parent.map { receivers[$0] != nil } ?? false)
        }
        return Flow(exchanges.first?.flow ?? "", steps)
    }

    // MARK: - The person

    /// The person who signed in: an account of the test world, or a name from an ID token or a response.
    package enum Person: Sendable {
        case account(Account)
        case text(String)
    }

    package func person(of flow: Flow) -> Person? {
        var named: String?
        for step in flow.steps.reversed() {
            let notes = step.exchange.notes
            if let id = notes.request["account"] ?? behind(notes.credentials, flow), let account = account(id) {
                return .account(account)
            }
            named = named ?? notes.subject?.email ?? notes.subject?.subject
        }
        guard let named else { return nil }
        let account = world.read { $0.first(Account.byEmail, named.lowercased()) }
        return account.map { .account($0) } ?? .text(named)
    }

    private func account(_ id: String) -> Account? { world.read { $0.account(id) } }

    /// Returns the ID of the account to which one of `credentials` (codes or tokens) was issued. Only the providers of
    /// the sign-in `flow` are asked.
    private func behind(_ credentials: [String], _ flow: Flow) -> String? {
        let names = Set(flow.providerNames)
        for case let provider as any KeepsGrants in control.providers where names.contains(provider.name) {
            for credential in credentials {
                if let account = provider.issued(credential, in: world)?.account, !account.isEmpty { return account }
                let ended = (provider as? any RemembersEndedTokens)?.ended(credential, in: world)
                if let account = ended?.account { return account }
            }
        }
        return nil
    }

    // MARK: - The reason

    /// Returns the complete reason why a step of a sign-in failed. With `--mask-secrets`, secrets in it are masked.
    package func reason(_ failure: FlowStep) -> String {
        if let diagnosis = control.shownDiagnosis(of: failure.known) { return diagnosis }
        let document = ExchangeDocument(failure.known, masksSecrets: control.masksSecrets)
        return failure.exchange.fault.map { document.shown($0) } ?? "answered \(failure.exchange.response.status)"
    }
}

/// The conditions by which sign-ins are selected in the inspector's list and in `GET flows`.
package struct FlowFilter: Sendable {
    /// The name of a provider that took part in the sign-in.
    package var provider: String?
    /// A text that must occur in the sign-in's `client_id`.
    package var client: String?
    /// With `true`, only sign-ins that were stopped by a refusal, the user or a fault are selected. With `false`, only
    /// the others. With `nil`, all.
    package var isRefused: Bool?
    /// With `true`, only unfinished sign-ins are selected. With `false`, only those that have ended. With `nil`, all.
    package var isUnfinished: Bool?
    /// A text that must occur in the sign-in's summary. Upper and lower case don't matter.
    package var text: String?
    /// Whether to include requests that only fetch a key set or a discovery document.
    package var takesQuiet = false

    package init() {}

    init(_ fields: inout Fields) {
        isRefused = fields.optional(
            "refused", .boolean, "true: only sign-ins stopped by a refusal, the user or a fault.")
        isUnfinished = fields.optional("unfinished", .boolean, "true: only unfinished sign-ins.")
        provider = fields.optional(
            "provider", .text(.nonEmpty), "The name of a provider, as in the seed: \"apple\".")
        client = fields.optional("client", .text(.nonEmpty), "A part of the client ID.")
        text = fields.optional(
            "text", .text(.nonEmpty), "Text in the diagnosis, user, client or an ID, in upper or lower case.")
        takesQuiet = fields(
            "all", .boolean, default: false, "true: also list requests for key sets and discovery documents.")
    }

    func matches(_ flow: Flow, _ reader: FlowReader) -> Bool {
        if flow.isQuiet, !takesQuiet { return false }
        if let isRefused, isRefused != (flow.failure != nil) { return false }
        if let isUnfinished, isUnfinished != (flow.ending == .unfinished) { return false }
        if let client, !(flow.client.map { TextSearch(client).isFound(in: $0) } ?? false) { return false }
        if let provider, !flow.providerNames.contains(provider) { return false }
        guard let text else { return true }
        let wanted = TextSearch(text)
        return texts(of: flow, reader).contains { wanted.isFound(in: $0) }
    }

    /// Returns a sign-in's searchable texts, such as its client ID and the name of the person.
    private func texts(of flow: Flow, _ reader: FlowReader) -> [String] {
        var texts = flow.steps.map(\.exchange.id) + flow.providers.map(\.title) + [flow.name, flow.ending.title]
        texts += [flow.client, flow.failure.flatMap { reader.control.shownDiagnosis(of: $0.known) }].compactMap { $0 }
        switch reader.person(of: flow) {
        case .account(let account): texts += [account.id, account.fullName, account.email]
        case .text(let text): texts.append(text)
        case nil: break
        }
        return texts
    }
}

/// The position of a sign-in in the list of sign-ins. It consists of the time of the sign-in's last response, in
/// microseconds since 1970, and of the number in that request's ID. A sign-in has the same position at all daemons that
/// share a test world.
package struct FlowPlace: Comparable, Sendable {
    private let time: Int64
    private let number: Int

    package init(of exchanges: [KnownExchange]) {
        (time, number) = exchanges.map(\.exchange.answered).max { $0 < $1 } ?? (0, 0)
    }

    /// Parses a position as the property `text` returns it: a time in microseconds, and the number of a recorded
    /// request. Without a number, the position is before all requests of that microsecond.
    package init?(_ text: String) {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let time = parts.first.flatMap({ Int64($0) }) else { return nil }
        guard let number = parts.count > 1 ? Int(parts[1]) : 0 else { return nil }
        (self.time, self.number) = (time, number)
    }

    package var text: String { "\(time).\(number)" }

    package static func < (left: FlowPlace, right: FlowPlace) -> Bool {
        (left.time, left.number) < (right.time, right.number)
    }
}
