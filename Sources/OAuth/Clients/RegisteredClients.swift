import EmulatorCore
import JOSE
import JSON

/// A client in a provider's section of the seed.
package protocol SeededOAuthClient: SignInClient {
    var redirectURIs: [String] { get }

    /// Reads the client, with the provider's words.
    init(_ fields: inout Fields, _ words: RegisteredClientWords)
}

/// The words of a provider for its clients and their properties.
package struct RegisteredClientWords: Sendable {
    /// The noun, such as `client`: the seed then has `clients`, each with `clientID` and `clientSecret`.
    package let noun: String
    package let defaultSecret: String
    /// The name of the redirect URIs in the provider's console, without a full stop.
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
    /// The name on the consent page.
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

/// The clients in a provider's section of the seed, by ID.
package struct RegisteredClients<Client: SeededOAuthClient>: Sendable {
    private let words: RegisteredClientWords
    /// The clients in the seed's order.
    package let all: [Client]
    private let byID: [String: Client]
    /// The IDs, sorted.
    private let ids: [String]

    /// Reads the clients. `about` describes them in a sentence, for the seed's reference.
    package init(_ fields: inout Fields, _ words: RegisteredClientWords, _ about: String) {
        self.words = words
        all = fields.list(
            "\(words.noun)s", of: ComposedRule { Client(&$0, words) }, key: "\(words.noun)ID", about)
        byID = Dictionary(all.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        ids = byID.keys.sorted()
    }

    package subscript(id: String) -> Client? { byID[id] }

    /// Returns a hint for an unknown ID.
    package func hint(for id: String) -> String { Spelling.hint(id, among: ids) }

    /// Returns the clients for the inspector; `provider` is the provider's name for people.
    package func seeded(at provider: String) -> [SeededClient] {
        all.map {
            SeededClient(
                id: $0.id, kind: "\(words.noun) at \(provider)", addresses: $0.redirectURIs.joined(separator: " "))
        }
    }

    /// Returns the client of a control call.
    package func client(named id: String, at path: String = "$.client") throws(ControlRefusal) -> Client {
        if let client = self[id] { return client }
        let message = "no \(words.noun) \(Diagnosis.quote(id)) is seeded\(hint(for: id))"
        throw ControlRefusal(ControlAnswer.error(404, "noSuchClient", message, path: path))
    }
}

/// The `iss` of a provider's tokens.
package enum IssuerChoice: String, CaseIterable, Sendable {
    /// The provider's own.
    case provider
    /// The address that the request used, for clients that compare it.
    case request

    /// Reads the seed's choice; `own` is the provider's own issuer.
    package init(_ fields: inout Fields, own: String) {
        self = fields(
            "issuer", .choice(IssuerChoice.self), default: .provider,
            "\"provider\": \(own); \"request\": the address that the request used.")
    }

    /// Returns the issuer for a request; `host` is the provider's.
    package func issuer(at host: String, _ exchange: Exchange) -> String {
        self == .provider ? "https://\(host)" : exchange.address.base(of: host)
    }
}

extension RegisteredClients {
    /// Returns the client for whose token the control API asks.
    package func client(of wanted: TokenRequest) throws(ControlRefusal) -> Client {
        if let client = self[wanted.client] { return client }
        throw wanted.noSuchClient(words.noun, hint: hint(for: wanted.client))
    }
}

extension CallAnswer {
    /// The refusals of a sign-in on a device, for providers whose SDK has no errors of its own.
    package static let nativeRefusals: [CallAnswer] = [
        .refusal(404, "noSuchClient", "There is no such client."),
        .refusal(404, "noSuchAccount", "There is no such account, or none at all."),
        .json(409, "`canceled`, or the error that was ordered.", CallAnswer.error),
        .refusal(500, "signing", "The token can't be signed."),
    ]
}

extension Exchange {
    /// Returns the person who signs in on a device, to `client`; `account` is the account on the device.
    package func nativeAccount(
        provider: String, client: some SeededOAuthClient, account: String?
    ) throws -> Account {
        try nativeDecision(provider: provider, client: client.id, interaction: client.interaction, account: account)
            .nativeApproval().account
    }
}
