import EmulatorCore
import JOSE
import JSON

/// A registered client in a provider's section of the seed (the test data).
package protocol SeededOAuthClient: SignInClient {
    var redirectURIs: [String] { get }

    /// Reads a registered client from the seed. `words` are the provider's names for the client's properties.
    init(_ fields: inout Fields, _ words: RegisteredClientWords)
}

/// The names by which a provider calls its registered clients and their properties.
package struct RegisteredClientWords: Sendable {
    /// The provider's word for a client, such as `client`. The names of seed members are made of it: the list is
    /// `clients`, and each client has a `clientID` and a `clientSecret`.
    package let noun: String
    package let defaultSecret: String
    /// The name by which the provider's console calls redirect URIs.
    package let redirectURIs: String

    package init(noun: String, defaultSecret: String, redirectURIs: String) {
        self.noun = noun
        self.defaultSecret = defaultSecret
        self.redirectURIs = redirectURIs
    }
}

/// A client with only an ID, a secret and redirect URIs, for providers that need no more.
package struct RegisteredClient: SeededOAuthClient {
    package let id: String
    package let secret: String
    /// The client's name on the consent page.
    package let name: String
    package let redirectURIs: [String]
    package let interaction: Interaction?

    package init(_ fields: inout Fields, _ words: RegisteredClientWords) {
        let noun = words.noun
        id = fields("\(noun)ID", .text(.nonEmpty), "The \(noun) ID.")
        secret = fields("\(noun)Secret", .text(.nonEmpty), default: words.defaultSecret, "The \(noun) secret.")
        name = fields("name", .text(.nonEmpty), default: "Example", "The \(noun)'s name on the consent page.")
        redirectURIs = fields(
            "redirectURIs", .set(of: .text(RegisteredRedirectURI.webRule)), default: [], "\(words.redirectURIs).")
        interaction = fields.clientInteraction()
    }
}

/// The registered clients in a provider's section of the seed.
package struct RegisteredClients<Client: SeededOAuthClient>: Sendable {
    private let words: RegisteredClientWords
    /// All clients of the provider, in the sequence in which the seed lists them.
    package let all: [Client]
    private let byID: [String: Client]
    private let ids: [String]

    /// Reads a provider's clients from the seed. `about` is the sentence that describes them in the seed's reference
    /// documentation.
    package init(_ fields: inout Fields, _ words: RegisteredClientWords, _ about: String) {
        self.words = words
        all = fields.list(
            "\(words.noun)s", of: ComposedRule { Client(&$0, words) }, key: "\(words.noun)ID", about)
        byID = Dictionary(all.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        ids = byID.keys.sorted()
    }

    package subscript(id: String) -> Client? { byID[id] }

    /// Returns a hint for an error message about an unknown client ID, such as the most similar known one.
    package func hint(for id: String) -> String { Spelling.hint(id, among: ids) }

    /// Returns the provider's clients for the inspector (the web pages for developers). `provider` is the provider's
    /// display name.
    package func seeded(at provider: String) -> [SeededClient] {
        all.map {
            SeededClient(
                id: $0.id, kind: "\(words.noun) at \(provider)", addresses: $0.redirectURIs.joined(separator: " "))
        }
    }

    /// Returns the client that a call of the control API names by its ID.
    package func client(named id: String, at path: String = "$.client") throws(ControlRefusal) -> Client {
        if let client = self[id] { return client }
        let message = "no \(words.noun) \(Diagnosis.quote(id)) is seeded\(hint(for: id))"
        throw ControlRefusal(ControlAnswer.error(404, "noSuchClient", message, path: path))
    }
}

/// A setting in the seed: the issuer (`iss`) that a provider's tokens name.
package enum IssuerChoice: String, CaseIterable, Sendable {
    /// The `iss` is the real provider's own issuer.
    case provider
    /// The `iss` is the address at which the client has reached this server. Some clients require `iss` to equal the
    /// address that they use.
    case request

    /// Reads from the seed which `iss` the provider's tokens have. `own` is the real provider's issuer.
    package init(_ fields: inout Fields, own: String) {
        self = fields(
            "issuer", .choice(IssuerChoice.self), default: .provider,
            "\"provider\": \(own); \"request\": the address that the request used.")
    }

    /// Returns the `iss` for the answer to a request. `host` is the provider's host.
    package func issuer(at host: String, _ exchange: Exchange) -> String {
        self == .provider ? "https://\(host)" : exchange.address.base(of: host)
    }
}

extension RegisteredClients {
    /// Returns the client for which a call of the control API requests a token.
    package func client(of wanted: TokenRequest) throws(ControlRefusal) -> Client {
        if let client = self[wanted.client] { return client }
        throw wanted.noSuchClient(words.noun, hint: hint(for: wanted.client))
    }
}

extension CallAnswer {
    /// The errors that a native sign-in can return, for providers whose SDK has no errors of its own.
    package static let nativeRefusals: [CallAnswer] = [
        .refusal(404, "noSuchClient", "There is no such client."),
        .refusal(404, "noSuchAccount", "There is no such account, or none at all."),
        .json(409, "`canceled`, or the error that was ordered.", CallAnswer.error),
        .refusal(500, "signing", "The token can't be signed."),
    ]
}

extension Exchange {
    /// Returns the person who signs in natively to `client`. `account` is the account that is signed in on the device.
    package func nativeAccount(
        provider: String, client: some SeededOAuthClient, account: String?
    ) throws -> Account {
        try nativeDecision(provider: provider, client: client.id, interaction: client.interaction, account: account)
            .nativeApproval().account
    }
}
