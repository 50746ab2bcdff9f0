import EmulatorCore
import HTTPServer
import JSON

/// Conditions on sign-ins: of the inspector's list, and of `GET flows`.
package struct FlowFilter: Sendable {
    /// The name of a provider.
    package var provider: String?
    /// A part of the client's ID.
    package var client: String?
    /// Whether it was refused, cancelled, or made to fail.
    package var isRefused: Bool?
    /// Whether only flows are taken that aren't finished.
    package var isUnfinished = false
    /// A text in the flow's summary; case is ignored.
    package var text: String?
    /// Whether requests for just a key set or a discovery document are taken, too.
    package var takesQuiet = false

    package init() {}

    init(_ fields: inout Fields) {
        isRefused = fields.optional(
            "refused", .boolean, "Whether something stopped it: a refusal, the person or an ordered fault.")
        isUnfinished = fields("unfinished", .boolean, default: false, "true: only those that aren't finished.")
        provider = fields.optional(
            "provider", .text(.nonEmpty), "The name of a provider that took part, as in the seed: \"apple\".")
        client = fields.optional("client", .text(.nonEmpty), "A part of the client ID.")
        text = fields.optional(
            "text", .text(.nonEmpty), "A text, in any case: of the diagnosis, the person, the client or an ID.")
        takesQuiet = fields(
            "all", .boolean, default: false, "true: also what only asked for a key set or a discovery document.")
    }

    func takes(_ flow: Flow, _ reader: FlowReader) -> Bool {
        if flow.isQuiet, !takesQuiet { return false }
        if let isRefused, isRefused != (flow.failure != nil) { return false }
        if isUnfinished, flow.ending != .unfinished { return false }
        if let client, !(flow.client.map { TextSearch(client).isFound(in: $0) } ?? false) { return false }
        if let provider, !flow.providerNames.contains(provider) { return false }
        guard let text else { return true }
        let wanted = TextSearch(text)
        return texts(of: flow, reader).contains { wanted.isFound(in: $0) }
    }

    /// Returns the texts that a search examines.
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
