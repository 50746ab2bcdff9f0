import JSON

/// The way in which authorizations are answered: by the sign-in page, or at once.
package struct Interaction: SchemaObject {
    package enum Mode: String, CaseIterable, Sendable {
        case page
        case auto
    }

    package let mode: Mode
    /// The account that signs in in mode `auto`; `nil` for the first.
    package let account: String?
    package let outcome: Outcome.Kind
    package let details: Outcome.Details

    package init(_ fields: inout Fields) {
        mode = fields(
            "mode", .choice(Mode.self), default: .page,
            "\"page\" shows the sign-in page; \"auto\" answers at once.")
        account = fields.nullable(
            "account", .text(.identifier), "Who signs in when the mode is \"auto\"; the first account by default.")
        outcome = fields("outcome", .choice(Outcome.Kind.self), default: .approve, "What mode \"auto\" answers.")
        details = Outcome.Details(&fields)
    }

    /// Returns the outcome of every authorization in mode `auto`; `nil` in mode `page`.
    func standing(provider: String) -> Outcome? {
        guard mode == .auto else { return nil }
        return Outcome(
            id: "interaction", provider: provider, account: account, kind: outcome, details: details, times: nil)
    }
}

extension Fields {
    /// Reads a client's own interaction.
    package mutating func clientInteraction() -> Interaction? {
        nullable("interaction", .object(Interaction.self), "Overrides the file's `interaction` for this client.")
    }
}
