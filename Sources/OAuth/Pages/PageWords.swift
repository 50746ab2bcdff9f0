import EmulatorCore

/// The texts of a provider's pages.
package struct PageWords: Sendable {
    /// The heading above the list of people.
    package var choose: String
    /// The destination after the sign-in, made of the client's name.
    package var destination: @Sendable (String) -> String = { "to go on to \($0)" }
    /// The button for a person who isn't in the list.
    package var somebodyElse = "Somebody else"
    /// The heading above the form for a new person.
    package var newPerson = "Somebody else"
    /// The button that creates the person.
    package var make = "Go on"
    /// The heading of the consent page, made of the client's name and the person.
    package var consent: @Sendable (String, Account) -> String = { client, _ in "Continue to \(client)?" }
    /// The text above the list of what the client gets.
    package var gets: @Sendable (String, Account) -> String = { client, account in
        "\(client) gets, of \(account.fullName) (\(account.email)):"
    }
    /// The button for consent.
    package var approve: @Sendable (Account) -> String = { _ in "Continue" }
    package var cancel = "Cancel"

    package init(choose: String, _ change: (inout PageWords) -> Void = { _ in }) {
        self.choose = choose
        change(&self)
    }
}
