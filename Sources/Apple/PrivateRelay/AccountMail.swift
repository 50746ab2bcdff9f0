import EmulatorCore
import OAuth

// Apple's mails to people about Sign in with Apple, if the seed asks for them. Mails about an Apple Account come from
// this address (https://support.apple.com/102525). Whether and when there is one about an app isn't documented, nor is
// its text: these words are our own.

extension AppleProvider {
    private static let sender = Mailbox("appleid@id.apple.com", name: "Apple")

    /// Notifies a person that an app was used for the first time.
    func mailPerson(of authorization: Authorization, for client: AppleDirectory.Client, _ exchange: Exchange) throws {
        guard settings.accountMails, authorization.isFirst else { return }
        let account = authorization.account
        let address =
            authorization.grant.sharesEmail
            ? "It knows you by your address."
            : "Your address is hidden: the app has \(authorization.email), and what it writes there is forwarded to you."
        let text = """
            Hello \(authorization.name.given),

            your Apple Account (\(account.email)) was used for the first time to sign in to \(client.id).

            \(address)

            In the settings of your Apple Account, under Sign in with Apple, you can look at it, switch forwarding off, or stop using it.

            """
        try exchange.world.deliver(
            SentMessage(
                .mail, from: AppleProvider.sender, to: Mailbox(account.email, name: account.fullName),
                subject: "Your Apple Account was used to sign in to \(client.id)", text: text, request: exchange.id))
    }
}
