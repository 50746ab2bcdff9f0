import EmulatorCore
import HTTPServer
import Worlds

/// The decision about an authorization before a person is asked. It comes from an ordered fault or outcome, or from the
/// client's `interaction` in the seed.
package enum Decision: Sendable {
    /// Show a page, because nothing was ordered.
    case ask
    /// Approve for this person, with the ordered outcome if there is one.
    case approve(Account, Outcome?)
    /// An approval was ordered, but there is no account for it.
    case nobody
    case cancel
    /// End the sign-in of this person with the named error.
    case error(String, Account?)
}

extension Exchange {
    /// Returns the decision for an authorization endpoint.
    package func decision(provider: String, client: String, interaction: Interaction?) throws -> Decision {
        try world.update { tables in
            decision(provider: provider, client: client, interaction: interaction, in: &tables)
        }
    }

    /// Returns the decision within a transaction that changes more.
    package func decision(
        provider: String, client: String, interaction: Interaction?, in tables: inout Transaction
    ) -> Decision {
        let interaction = interaction ?? world.seed.interaction
        let outcome = self.outcome(&tables, provider: provider, client: client, interaction: interaction)
        guard let outcome else { return .ask }
        return Decision(outcome, tables.personSigningIn(interaction, outcome))
    }

    /// Returns the decision for a sign-in on a device, which has no page. `account` is the account on the device.
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

    /// Returns the person who signs in natively and the ordered outcome. Throws the answer for providers whose SDK has
    /// no error of its own.
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
