import EmulatorCore
import JSON

/// A client that a provider's section of the seed registers.
package protocol SeededOAuthClient: Sendable {
    var id: String { get }
    var redirectURIs: [String] { get }
    var interaction: Interaction? { get }

    /// Reads the client. `words` are the provider's.
    init(_ fields: inout Fields, _ words: RegisteredClientWords)
}

/// What a provider calls its clients and what belongs to them.
package struct RegisteredClientWords: Sendable {
    /// `client`: so the seed has `clients`, each with `clientID` and `clientSecret`.
    package let noun: String
    package let defaultSecret: String
    /// What the provider's console calls the redirect URIs, without a full stop.
    package let redirectURIs: String

    package init(noun: String, defaultSecret: String, redirectURIs: String) {
        self.noun = noun
        self.defaultSecret = defaultSecret
        self.redirectURIs = redirectURIs
    }
}

/// A client as providers register it that ask for no more than an ID, a secret and redirect URIs.
package struct RegisteredClient: SeededOAuthClient {
    package let id: String
    package let secret: String
    /// What the consent page calls it.
    package let name: String
    package let redirectURIs: [String]
    package let interaction: Interaction?

    package init(_ fields: inout Fields, _ words: RegisteredClientWords) {
        let noun = words.noun
        id = fields("\(noun)ID", .text(.nonEmpty), "The \(noun) ID.")
        secret = fields("\(noun)Secret", .text(.nonEmpty), default: words.defaultSecret, "The \(noun) secret.")
        name = fields("name", .text(.nonEmpty), default: "Example", "What the consent page calls the \(noun).")
        redirectURIs = fields(
            "redirectURIs", .set(of: .text(RegisteredRedirectURI.webRule)), default: [], "\(words.redirectURIs).")
        interaction = fields.clientInteraction()
    }
}

/// The clients of a provider's section of the seed, by their IDs.
package struct RegisteredClients<Client: SeededOAuthClient>: Sendable {
    private let words: RegisteredClientWords
    /// In the seed's order.
    package let all: [Client]
    private let byID: [String: Client]
    /// In alphabetical order.
    private let ids: [String]

    /// `about` is what the clients are, in a sentence for the seed's reference.
    package init(_ fields: inout Fields, _ words: RegisteredClientWords, _ about: String) {
        self.words = words
        all = fields.list(
            "\(words.noun)s", of: ComposedRule { Client(&$0, words) }, key: "\(words.noun)ID", about)
        byID = Dictionary(all.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        ids = byID.keys.sorted()
    }

    package subscript(id: String) -> Client? { byID[id] }

    /// What was probably meant by an ID that nobody has.
    package func hint(for id: String) -> String { Spelling.hint(id, among: ids) }

    /// For the inspector; `provider` is its name, as people write it.
    package func seeded(at provider: String) -> [SeededClient] {
        all.map {
            SeededClient(
                id: $0.id, kind: "\(words.noun) at \(provider)", addresses: $0.redirectURIs.joined(separator: " "))
        }
    }

    /// The client of a call of the control API.
    package func client(named id: String, at path: String = "$.client") throws(ControlRefusal) -> Client {
        if let client = self[id] { return client }
        let message = "no \(words.noun) \(Diagnosis.quote(id)) is seeded\(hint(for: id))"
        throw ControlRefusal(ControlAnswer.error(404, "noSuchClient", message, path: path))
    }
}

extension CallAnswer {
    /// What a sign-in on a device is refused with, where the provider's SDK has no words of its own.
    package static let nativeRefusals: [CallAnswer] = [
        .refusal(404, "noSuchClient", "There is no such client."),
        .refusal(404, "noSuchAccount", "There is no such account, or none at all."),
        .json(409, "`canceled`, or the error that was ordered.", CallAnswer.error),
        .refusal(500, "signing", "The token can't be signed."),
    ]
}

extension Exchange {
    /// Who signs in on a device, to `client`; `account` is who is signed in there.
    package func nativeAccount(
        provider: String, client: some SeededOAuthClient, account: String?
    ) throws -> Account {
        try nativeDecision(provider: provider, client: client.id, interaction: client.interaction, account: account)
            .nativeApproval().account
    }
}
