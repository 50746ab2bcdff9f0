import EmulatorCore
import HTTPServer

/// Reads sign-ins from a world's recording. It works on the store's queue: the first reading of an exchange takes some
/// time.
package struct FlowReader: Sendable {
    package let control: ControlAPI
    package let world: World

    package init(_ control: ControlAPI, _ world: World) {
        self.control = control
        self.world = world
    }

    /// Returns the exchanges of each flow in the order in which they were answered, the most recently active flow
    /// first.
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

    /// Returns the flows that `filter` takes, the most recently active first.
    ///
    /// - Parameters:
    ///   - before: the position of a flow; only flows that were active before it are returned.
    ///   - isWanted: says by a flow's exchanges whether it is read at all.
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
            if filter.takes(flow, self) { flows.append(flow) }
        }
        return flows
    }

    /// Returns the flow with this ID, or the one that the exchange with this ID belongs to.
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
                ? Step(.message, "tell the client")
                : Step(known.exchange, at: endpoint)
            return FlowStep(
                known: known, step: step, sender: sender,
                receiver: provider.map { Party($0) } ?? (isMessage ? .backend : .nobody),
                isInner: known.exchange.parent.map { receivers[$0] != nil } ?? false)
        }
        return Flow(exchanges.first?.flow ?? "", steps)
    }

    // MARK: - The person

    /// The person of a flow: an account of the world, or a name from an ID token or an answer.
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

    /// Returns the account for which one of the flow's providers has issued a credential.
    private func behind(_ credentials: [String], _ flow: Flow) -> String? {
        let names = Set(flow.providerNames)
        for case let provider as any KeepsGrants in control.providers where names.contains(provider.name) {
            for credential in credentials {
                if let account = provider.issued(credential, in: world)?.account, !account.isEmpty { return account }
            }
        }
        return nil
    }

    // MARK: - The reason

    /// Returns the whole reason for a failure, masked if secrets are to be.
    package func reason(_ failure: FlowStep) -> String {
        if let diagnosis = control.shownDiagnosis(of: failure.known) { return diagnosis }
        let document = ExchangeDocument(failure.known, masksSecrets: control.masksSecrets)
        return failure.exchange.fault.map { document.shown($0) } ?? "answered \(failure.exchange.response.status)"
    }
}
