import EmulatorCore

/// What a provider's pages say, each in words of the provider's own kind.
package struct PageWords: Sendable {
    /// The heading above the people to choose from.
    package var choose: String
    /// Whither one goes on from there. Gets the client's name.
    package var destination: @Sendable (String) -> String = { "to go on to \($0)" }
    /// The button for somebody who isn't among the people.
    package var somebodyElse = "Somebody else"
    /// The heading above the form for such a person.
    package var newPerson = "Somebody else"
    /// The button that makes the person.
    package var make = "Go on"
    /// The heading of the consent page. Gets the client's name and the person.
    package var consent: @Sendable (String, Account) -> String = { client, _ in "Continue to \(client)?" }
    /// What stands above the list of what the client gets.
    package var gets: @Sendable (String, Account) -> String = { client, account in
        "\(client) gets, of \(account.fullName) (\(account.email)):"
    }
    /// The button that consents.
    package var approve: @Sendable (Account) -> String = { _ in "Continue" }
    package var cancel = "Cancel"

    package init(choose: String, _ change: (inout PageWords) -> Void = { _ in }) {
        self.choose = choose
        change(&self)
    }
}
