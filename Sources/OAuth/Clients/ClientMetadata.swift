import EmulatorCore
import JOSE
import JSON

/// The clients that must use PKCE: <https://datatracker.ietf.org/doc/html/rfc9700#section-2.1.1>.
package enum PKCEPolicy: String, CaseIterable, Sendable {
    case `public`
    case required
    case optional
}

/// A client as a seed registers it: <https://openid.net/specs/openid-connect-registration-1_0.html#ClientMetadata>.
package struct ClientMetadata: SchemaObject {
    package enum Subject: String, CaseIterable, Sendable {
        case `public`
        case pairwise
    }

    package enum AccessToken: String, CaseIterable, Sendable {
        case opaque
        case jwt
    }

    package let clientID: String
    package let clientSecret: String?
    package let name: String
    package let redirectURIs: [String]
    package let postLogoutRedirectURIs: [String]
    package private(set) var credentials: ClientCredentials
    package let grantTypes: [String]?
    package let responseTypes: [Set<String>]?
    package let pkce: PKCEPolicy?
    package let scopes: [String]?
    package let needsConsent: Bool
    package let subject: Subject
    /// The host whose clients share pairwise subjects.
    package let sector: String
    package let accessToken: AccessToken
    package let audience: [String]
    package let idTokenAlgorithm: String?
    package let userInfoAlgorithm: String?
    package let backchannelLogoutURI: String?
    package let claims: JSONObject
    package let interaction: Interaction?
    /// Whether no seed has this client. Then it may use any secret and any redirect URI.
    package private(set) var isTakenOnTrust = false

    /// Makes a client that no seed has, for a server that accepts any.
    package static func takenOnTrust(_ id: String) -> ClientMetadata {
        var client = ClientMetadata(reading: ["clientID": .string(id), "name": .string(id)])
        client.isTakenOnTrust = true
        client.credentials = ClientCredentials(
            clientID: id, secret: nil, keys: nil, methods: Set(ClientAuthenticationMethod.allCases))
        return client
    }

    package init(_ fields: inout Fields) {
        clientID = fields("clientID", .text(.nonEmpty), "The client ID.")
        clientSecret = fields.nullable(
            "clientSecret", .text(.nonEmpty),
            "The client secret. A client without a secret and without keys is a public one.")
        name = fields("name", .text(.nonEmpty), default: "Example", "What pages call the client.")
        redirectURIs = fields(
            "redirectURIs", .set(of: .text(RegisteredRedirectURI.rule)), default: [], "Redirect URIs.")
        postLogoutRedirectURIs = fields(
            "postLogoutRedirectURIs", .set(of: .text(RegisteredRedirectURI.rule)), default: [],
            "Where a browser may go on after it was signed out.")
        let method = fields.optional(
            "tokenEndpointAuthMethod", .choice(ClientAuthenticationMethod.self),
            "How it authenticates; by default with the secret in the header or the form, with a key where it has no secret, or not at all."
        )
        let keys = fields.nullable("jwks", .map(of: .any), "Its public keys, a JSON Web Key Set.")
        grantTypes = fields.nullable(
            "grantTypes", .set(of: .text(.nonEmpty)),
            "Its grant types; all by default, but client_credentials, token exchange and the JWT bearer grant for confidential clients only."
        )
        responseTypes = fields.nullable(
            "responseTypes", .set(of: .text(.nonEmpty)), "Its response types; the issuer's by default."
        )?.map(AuthorizationParameters.responseType)
        pkce = fields.nullable("pkce", .choice(PKCEPolicy.self), "Overrides the issuer's `pkce`.")
        scopes = fields.nullable(
            "scopes", .set(of: .text(.nonEmpty)), "The scopes that it may ask for; any by default.")
        needsConsent = fields("consent", .boolean, default: false, "Whether people are asked for their consent.")
        subject = fields(
            "subject", .choice(Subject.self), default: .public,
            "Whether `sub` is the same at all clients (OpenID Connect Core 8).")
        let sector = fields.nullable(
            "sector", .text(.nonEmpty),
            "The host whose clients share pairwise subjects; the first redirect URI's by default.")
        accessToken = fields(
            "accessToken", .choice(AccessToken.self), default: .opaque, "What access tokens are (jwt: RFC 9068).")
        audience = fields(
            "audience", .set(of: .text(.nonEmpty)), default: [],
            "`aud` of access tokens that are asked for without `resource`; the client by default.")
        idTokenAlgorithm = fields.nullable(
            "idTokenAlgorithm", .choice(ClientMetadata.algorithms),
            "Which of the issuer's algorithms signs its ID tokens.")
        userInfoAlgorithm = fields.nullable(
            "userInfoAlgorithm", .choice(ClientMetadata.algorithms),
            "Which signs userinfo; by default it isn't signed, but JSON.")
        backchannelLogoutURI = fields.nullable(
            "backchannelLogoutURI", .text(.url), "Where it is told that a session has ended.")
        claims = JSONObject(
            fields.map("claims", of: .any, "Claims of everybody in tokens for this client.").map { ($0.name, $0.value) }
        )
        interaction = fields.clientInteraction()
        self.sector = sector ?? redirectURIs.first.flatMap { WebAddress($0)?.host } ?? clientID
        let jwks = keys.map { KeySet(.object(JSONObject($0.map { ($0.name, $0.value) }))) }
        let usual: Set<ClientAuthenticationMethod> =
            clientSecret != nil ? [.clientSecretBasic, .clientSecretPost] : jwks != nil ? [.privateKeyJWT] : [.none]
        credentials = ClientCredentials(
            clientID: clientID, secret: clientSecret, keys: jwks, methods: method.map { [$0] } ?? usual)
    }

    /// The names of the algorithms for tokens. HS256 signs with the client's secret.
    package static let algorithms = (Algorithm.published + [.hs256]).map(\.rawValue)

    /// Whether the client can keep a secret, or is trusted to.
    package var isConfidential: Bool { isTakenOnTrust || credentials.isConfidential }

    /// Whether the browser may be redirected to `uri`, given the registered ones.
    package func mayUse(
        redirectURI uri: String, among registered: [String], _ comparison: RegisteredRedirectURI.Comparison = .exact
    ) -> Bool {
        if isTakenOnTrust {
            return RegisteredRedirectURI.rule.holds(uri) && !RegisteredRedirectURI.runsScript(uri)
        }
        return registered.contains { RegisteredRedirectURI($0).matches(uri, comparison) }
    }

    /// Whether the client may use a grant type.
    package func mayUse(_ grantType: String) -> Bool {
        if isTakenOnTrust { return true }
        if let grantTypes { return grantTypes.contains(grantType) }
        let isForConfidential = ["client_credentials", TokenExchange.grantType, IdentityAssertion.grantType]
            .contains(grantType)
        return !isForConfidential || isConfidential
    }

    /// Whether the client's authorization requests need a `code_challenge`, at an issuer with this policy.
    package func mustUsePKCE(_ policy: PKCEPolicy) -> Bool {
        switch pkce ?? policy {
        case .required: true
        case .public: !isConfidential
        case .optional: false
        }
    }

    /// Checks a client in a seed, beyond its schema.
    package static func check(_ client: LocatedJSON, _ references: inout SeedReferences) {
        references.checkInteraction(client["interaction"])
        let keys = client["jwks"]?["keys"]
        if let keys, keys.items.count > KeySet.limit {
            references.add(keys, "there are \(keys.items.count) keys: at most \(KeySet.limit) are read")
        }
        for key in (keys?.items ?? []).prefix(KeySet.limit) {
            do throws(KeyError) { _ = try Key(jwk: key.value) } catch {
                references.add(key, "not a usable key: \(error.description)")
            }
        }
        let needed = [
            "client_secret_basic": "clientSecret", "client_secret_post": "clientSecret",
            "client_secret_jwt": "clientSecret", "private_key_jwt": "jwks",
        ]
        guard let method = client["tokenEndpointAuthMethod"], let name = method.string, let member = needed[name],
            client[member] == nil
        else { return }
        references.add(method, "a client that authenticates by \(name) needs \"\(member)\"")
    }
}

/// A client in a provider's section of the seed.
package protocol SeededOAuthClient: Sendable {
    var id: String { get }
    var redirectURIs: [String] { get }
    var interaction: Interaction? { get }

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
        name = fields("name", .text(.nonEmpty), default: "Example", "What the consent page calls the \(noun).")
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
