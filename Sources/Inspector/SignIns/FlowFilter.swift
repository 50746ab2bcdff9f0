import EmulatorCore
import HTTPServer

/// The conditions on the flows in the list: the query of its address.
struct FlowFilter: Sendable {
    /// The name of a provider.
    let provider: String
    /// A part of the client's ID.
    let client: String
    /// Whether only flows are shown that were refused, cancelled, or made to fail.
    let isRefused: Bool
    /// Whether only flows are shown that aren't finished.
    let isUnfinished: Bool
    /// A text in the flow's summary; case is ignored.
    let text: String
    /// Whether requests for just a key set or a discovery document are shown, too.
    let showsQuiet: Bool

    init(_ form: Form) {
        provider = form["provider"] ?? ""
        client = form["client"] ?? ""
        isRefused = form["refused"] != nil
        isUnfinished = form["unfinished"] != nil
        text = form["q"] ?? ""
        showsQuiet = form["all"] != nil
    }

    var isEmpty: Bool { provider.isEmpty && client.isEmpty && !isRefused && !isUnfinished && text.isEmpty }

    /// Returns the filter as a query, with more fields.
    func query(_ more: [(String, String)] = []) -> String {
        var fields = [("provider", provider), ("client", client), ("q", text)].filter { !$0.1.isEmpty }
        if isRefused { fields.append(("refused", "1")) }
        if isUnfinished { fields.append(("unfinished", "1")) }
        if showsQuiet { fields.append(("all", "1")) }
        return Form(fields: (fields + more).map { Form.Field(name: $0.0, value: $0.1) }).encoded
    }

    func takes(_ flow: Flow, _ reader: FlowReader) -> Bool {
        if flow.isQuiet, !showsQuiet { return false }
        if isRefused, flow.failure == nil { return false }
        if isUnfinished, flow.ending != .underWay { return false }
        if !client.isEmpty, !(flow.client.map { TextSearch(client).isFound(in: $0) } ?? false) { return false }
        if !provider.isEmpty {
            let isThere = flow.providers.contains { party in
                if case .provider(provider, _, _) = party { true } else { false }
            }
            guard isThere else { return false }
        }
        guard !text.isEmpty else { return true }
        let wanted = TextSearch(text)
        return texts(of: flow, reader).contains { wanted.isFound(in: $0) }
    }

    /// Returns the texts that a search examines.
    private func texts(of flow: Flow, _ reader: FlowReader) -> [String] {
        var texts = flow.steps.map(\.exchange.id) + flow.providers.map(\.title) + [flow.title, flow.ending.title]
        texts += [flow.client, flow.failure.flatMap { reader.control.shownDiagnosis(of: $0.known) }].compactMap { $0 }
        switch reader.person(of: flow) {
        case .account(let account): texts += [account.id, account.fullName, account.email]
        case .text(let text): texts.append(text)
        case nil: break
        }
        return texts
    }
}
