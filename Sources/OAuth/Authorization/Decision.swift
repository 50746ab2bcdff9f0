import EmulatorCore
import HTTPServer
import Worlds

/// The decision about an authorization request before a page is shown. It follows a test's request, or else the
/// client's `interaction` in the seed (the test data).
package enum Decision: Sendable {
    /// Neither a test nor the seed has decided about the authorization request, so a page asks the person to decide.
    case ask
    /// The request is approved for this account. The outcome, if there is one, has details such as the granted scopes.
    case approve(Account, Outcome?)
    /// A test or the seed demands an approval, but there is no account for it.
    case nobody
    case cancel
    /// The sign-in of this account ends with the named error.
    case error(String, Account?)
}

extension Exchange {
    /// Returns the decision about a request to an authorization endpoint.
    package func decision(provider: String, client: String, interaction: Interaction?) throws -> Decision {
        try world.update { tables in
            decision(provider: provider, client: client, interaction: interaction, in: &tables)
        }
    }

    /// Returns the decision about an authorization request, within a transaction that also makes other changes.
    package func decision(
        provider: String, client: String, interaction: Interaction?, in tables: inout Transaction
    ) -> Decision {
        let interaction = interaction ?? world.seed.interaction
        let outcome = self.outcome(&tables, provider: provider, client: client, interaction: interaction)
        guard let outcome else { return .ask }
        return Decision(outcome, tables.personSigningIn(interaction, outcome))
    }

    /// Returns the decision about a native sign-in, which shows no page. `account` is the account that is signed in on
    /// the device.
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

    /// Returns the person who signs in natively, and the result that a test has requested.
    ///
    /// - Throws: A response of the control API if the sign-in fails, because the provider's SDK has no error of its own
    ///   for this.
    package func nativeApproval() throws(ControlRefusal) -> (account: Account, outcome: Outcome?) {
        switch self {
        case .approve(let account, let outcome): return (account, outcome)
        case .cancel: throw Decision.refusal(409, "canceled", "this result was ordered as the outcome of the sign-in")
        case .error(let name, _):
            throw Decision.refusal(
                409, name.isEmpty ? "canceled" : name, "this result was ordered as the outcome of the sign-in")
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
