import Control
import EmulatorCore
import HTTPServer

/// Reads flows out of a world's recording. Works on the store's queue: the first look at an exchange takes a while.
struct FlowReader: Sendable {
    let control: ControlAPI
    let finder: EndpointFinder
    let providers: [any Provider]
    let world: World
    /// What no single refusal says of a flow.
    let advice: @Sendable ([KnownExchange], World) -> [FlowAdvice]

    /// The exchanges of each flow, in the order in which they were answered; the flow first in which something happened last.
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

    /// Who a flow is about: a person of the seed, or what an ID token or an answer says of somebody.
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

    /// The account for which one of the flow's providers has given out a credential.
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
