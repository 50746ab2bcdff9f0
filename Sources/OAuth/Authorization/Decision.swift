import EmulatorCore
import HTTPServer

/// What becomes of an authorization before a person is asked: by an ordered fault or outcome, or by the client's own
/// interaction in the seed.
package enum Decision: Sendable {
    /// Nothing was ordered: a page asks.
    case ask
    /// The person consents. `outcome` says with what, if one was ordered.
    case approve(Account, Outcome?)
    /// Consent was ordered, but there is nobody who could give it.
    case nobody
    case cancel
    /// The error with this name, in the sign-in of this person.
    case error(String, Account?)
}

extension Exchange {
    /// For an authorization endpoint.
    package func decision(provider: String, client: String, interaction: Interaction?) throws -> Decision {
        try world.update { tables in
            decision(provider: provider, client: client, interaction: interaction, in: &tables)
        }
    }

    /// For an authorization that is decided together with something else.
    package func decision(
        provider: String, client: String, interaction: Interaction?, in tables: inout Transaction
    ) -> Decision {
        let interaction = interaction ?? world.seed.interaction
        let outcome = self.outcome(&tables, provider: provider, client: client, interaction: interaction)
        guard let outcome else { return .ask }
        return Decision(outcome, tables.personSigningIn(interaction, outcome))
    }

    /// For a sign-in on a device, where nobody is asked: `account` is who is signed in there.
    package func nativeDecision(
        provider: String, client: String, interaction: Interaction?, account: String?
    ) throws -> Decision {
        let interaction = interaction ?? world.seed.interaction
        return try world.update { tables in
            let outcome = self.outcome(
                &tables, provider: provider, client: client, interaction: interaction, account: account)
            let person = account.map { tables.account($0) } ?? tables.personSigningIn(interaction, outcome)
            return Decision(outcome, person)
        }
    }
}

extension Decision {
    fileprivate init(_ outcome: Outcome?, _ person: Account?) {
        switch outcome?.kind {
        case .cancel: self = .cancel
        case .error: self = .error(outcome?.error ?? "", person)
        case .approve, nil: self = person.map { .approve($0, outcome) } ?? .nobody
        }
    }

    /// The person who signs in natively and what was ordered, or the answer of a provider whose SDK has no words of its own.
    package func nativeApproval() throws(ControlRefusal) -> (account: Account, outcome: Outcome?) {
        switch self {
        case .approve(let account, let outcome): return (account, outcome)
        case .cancel: throw Decision.refusal(409, "canceled", "this was ordered as an outcome")
        case .error(let name, _):
            throw Decision.refusal(409, name.isEmpty ? "canceled" : name, "this was ordered as an outcome")
        case .nobody, .ask: throw Decision.noSuchAccount
        }
    }

    package static var noSuchAccount: ControlRefusal {
        refusal(404, "noSuchAccount", "there is no such account to sign in", path: "$.account")
    }

    private static func refusal(
        _ status: Int, _ code: String, _ message: String, path: String? = nil
    ) -> ControlRefusal {
        ControlRefusal(ControlAnswer.error(status, code, message, path: path))
    }
}
