import Control
import EmulatorCore
import HTTPServer

/// Reads flows from a world's recording. It works on the store's queue: the first reading of an exchange takes some
/// time.
struct FlowReader: Sendable {
    let control: ControlAPI
    let finder: EndpointFinder
    let providers: [any Provider]
    let world: World
    /// The function that returns the remarks about a flow that no single refusal makes.
    let advice: @Sendable ([KnownExchange], World) -> [FlowAdvice]

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

    func flow(_ exchanges: [KnownExchange]) -> Flow {
        var receivers: [String: Party] = [:]
        let found = exchanges.map { known in
            let (provider, endpoint) = finder.find(known.exchange)
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
    enum Person: Sendable {
        case account(Account)
        case text(String)
    }

    func person(of flow: Flow) -> Person? {
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
        let names = Set(
            flow.providers.map { party in if case .provider(let name, _, _) = party { name } else { "" } })
        for case let provider as any KeepsGrants in providers where names.contains(provider.name) {
            for credential in credentials {
                if let account = provider.issued(credential, in: world)?.account, !account.isEmpty { return account }
            }
        }
        return nil
    }
}
