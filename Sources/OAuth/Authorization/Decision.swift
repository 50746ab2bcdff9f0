import EmulatorCore
import HTTPServer
import Worlds

/// The decision about an OAuth authorization request, made before a page is shown. A test can make this decision in
/// advance. Otherwise the setting `interaction` in the seed (the test data) decides.
package enum Decision: Sendable {
    /// Neither a test nor the seed has decided about the authorization request, so a page asks the person to decide.
    case ask
    /// The authorization request is approved for this account. The associated `Outcome` has details that a test or the
    /// seed has set, such as the granted scopes; `nil` if there are none.
    case approve(Account, Outcome?)
    /// A test or the seed says that the authorization request is approved, but the account that would sign in doesn't
    /// exist.
    case nobody
    case cancel
    /// The sign-in of this account ends with the named error.
    case error(String, Account?)
}

extension Exchange {
    /// Returns how an authorization request ends if a test or the seed has decided this in advance. Otherwise returns
    /// `ask`: a page asks the person.
    package func decision(provider: String, client: String, interaction: Interaction?) throws -> Decision {
        try world.update { tables in
            decision(provider: provider, client: client, interaction: interaction, in: &tables)
        }
    }

    /// Returns how an authorization request ends if a test or the seed has decided this in advance. Otherwise returns
    /// `ask`: a page asks the person. `tables` is a transaction that also makes other changes.
    package func decision(
        provider: String, client: String, interaction: Interaction?, in tables: inout Transaction
    ) -> Decision {
        let interaction = interaction ?? world.seed.interaction
        let outcome = self.outcome(&tables, provider: provider, client: client, interaction: interaction)
        guard let outcome else { return .ask }
        return Decision(outcome, tables.personSigningIn(interaction, outcome))
    }

    /// Decides how a native sign-in (without a page) ends. `account` is the account that is signed in on the device.
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

    /// Returns the person who signs in natively (without a page), and the sign-in result that a test or the seed has
    /// set; the result is `nil` if neither has set one.
    ///
    /// - Throws: An error response of the control API if the sign-in fails. The provider's SDK has no error response of
    ///   its own for a failed sign-in.
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
