import HTTPServer
import JSON
import Worlds

/// The facts about an identity provider that don't depend on the seed (the initial data).
package struct ProviderFacts: Sendable {
    /// The provider's name in the control API and in seeds (initial data): one word in lower case.
    package let name: String
    /// The provider's name as people write it, such as "GitHub".
    package let title: String
    /// The type of the provider's own section of the seed (the initial data); `nil` for a provider without a section.
    package let section: (any SeedSection.Type)?
    /// The type of the provider's part of an account in the seed (initial data); `nil` for a provider at which people
    /// have no accounts.
    package let profile: (any AccountProfile.Type)?
    /// The types of all rows that the provider stores in the tables of a test world. Providers that share a table all
    /// list its row type.
    package let rows: [any Row.Type]
    /// The types of the single values, as opposed to table rows, that the provider stores in a test world.
    package let values: [any WorldValue.Type]
    /// Returns the environment variables by which a program finds the provider. `daemon` is the daemon's URL.
    package let variables: @Sendable (_ daemon: String) -> [(name: String, value: String)]
    /// The choices that a person has on the provider's sign-in page beside signing in, such as the scopes. A test can
    /// make these choices in advance.
    package let choices: Set<PersonalChoice>
    /// Whether the provider is a service between apps and the providers at which people sign in, as Firebase is.
    package let isService: Bool
    /// Members of the JSON response at the daemon's path `/`, by which programs recognize an emulator of the provider,
    /// such as the Firebase emulator.
    package let emulatorStatus: JSONObject
    /// The changes of the provider's behaviour on known days. A test can choose a day before or after a change.
    package let changes: [Change]
    /// Returns the public sources from which the provider's errors, claims, headers, limits and texts are known.
    package let evidence: @Sendable () -> EvidenceTable

    package init(
        name: String, title: String, section: (any SeedSection.Type)? = nil, profile: (any AccountProfile.Type)? = nil,
        rows: [any Row.Type] = [], values: [any WorldValue.Type] = [], choices: Set<PersonalChoice> = [.scopes],
        isService: Bool = false, emulatorStatus: JSONObject = JSONObject(), changes: [Change] = [],
        evidence: @autoclosure @escaping @Sendable () -> EvidenceTable = EvidenceTable(""),
        variables: @escaping @Sendable (_ daemon: String) -> [(name: String, value: String)] = { _ in [] }
    ) {
        (self.name, self.title, self.section, self.profile) = (name, title, section, profile)
        (self.rows, self.values, self.choices, self.isService) = (rows, values, choices, isService)
        (self.emulatorStatus, self.changes, self.variables) = (emulatorStatus, changes, variables)
        self.evidence = evidence
    }
}

/// An identity provider that the daemon simulates. Abilities that only some providers have are protocols of their own.
package protocol Provider: Sendable {
    static var facts: ProviderFacts { get }

    init(seed: Seed)

    /// The provider's endpoints, at the provider's hosts, at the daemon's own address and in the control API.
    ///
    /// Of several endpoints that match a request, one whose path has no parameters answers. Without such an endpoint,
    /// the first one answers.
    var endpoints: [Endpoint] { get }
    /// Returns the provider's own response to a request with too many fields, or with texts that are too long; `nil`
    /// when the provider has no such response.
    func overBudget(_ exchange: Exchange, _ diagnosis: Diagnosis) throws -> Response?
    /// Returns the ID of the client that sent a request, if the request names it otherwise than by a field such as
    /// `client_id`, for example by the access token.
    func client(of exchange: Exchange) -> String?
    /// Revokes a token that the provider has issued. Returns the token's kind (access or refresh token) and its client,
    /// or `nil` for a text that is none of the provider's tokens.
    func endToken(_ text: String, in exchange: Exchange) throws -> (kind: String, client: String)?
    /// Returns guides to setting up clients for sign-in at the daemon in place of the real provider: one guide for each
    /// kind of client.
    func setUpGuides(at place: SetUpPlace) -> [SetUpGuide]
}

extension Provider {
    package static var title: String { facts.title }
    package static var section: (any SeedSection.Type)? { facts.section }
    package static var profile: (any AccountProfile.Type)? { facts.profile }
    package var facts: ProviderFacts { Self.facts }
    package var name: String { Self.facts.name }

    package var hosts: Set<String> { Set(endpoints.flatMap(\.hosts)) }
}

// MARK: - What only some providers can do

/// A provider that has an error response of its own for requests to addresses that it doesn't serve.
package protocol RefusesUnserved: Provider {
    /// Returns the provider's own error for a request to a path that it doesn't serve, or with a method that it doesn't
    /// serve at this path. Returns `nil` when the address isn't the provider's.
    func notServed(_ exchange: Exchange) throws -> Response?
}

/// A provider with short addresses at the daemon's own host name, such as `/oidc/corp`.
package protocol HasAliases: Provider {
    var aliases: [HostAlias] { get }
}

/// A provider that issues codes and tokens for what people grant to apps.
package protocol KeepsGrants: Provider {
    /// Returns what is known about a code or token that the provider has issued in this test world; `nil` when the
    /// provider hasn't issued it, or has forgotten it.
    func issued(_ text: String, in world: World) -> IssuedValue?
    /// Removes the provider's data about an account, in the transaction that deletes the account. From then on,
    /// refusals of the account's codes and tokens give `reason`. The caller runs the returned closure after the commit.
    func accountDeleted(
        _ account: String, because reason: String, from tables: inout Transaction
    ) -> (@Sendable (_ exchange: Exchange) throws -> Void)?
    /// Returns sections of the daemon's web page about a person: the provider's data about the person, what the person
    /// has granted, and where the person is signed in.
    func sections(of account: Account, in exchange: Exchange) -> [InspectedSection]
    /// Returns the ID of the account whose identifier at the provider, such as `sub`, is `subject`; `nil` when there is
    /// none, or when finding it would mean reading every account.
    func account(named subject: String, in world: World) -> String?
}

/// A provider that remembers for a while why a code or token doesn't work any more.
package protocol RemembersEndedTokens: Provider {
    /// Returns the reason why a code or token doesn't work any more, and the account to which it belonged; `nil` when
    /// the provider doesn't remember the code or token.
    func ended(_ text: String, in world: World) -> EndedValue?
}

/// A code or token that was issued, but doesn't work any more, with the reason.
package struct EndedValue: Sendable {
    /// The reason why a code or token doesn't work any more, as a clause such as "the person removed the app".
    package let reason: String
    /// The account to which the code or token belonged; `nil` if the account isn't known.
    package let account: String?

    package init(reason: String, account: String?) { (self.reason, self.account) = (reason, account) }
}

package protocol MintsIDTokens: Provider {
    /// Returns the content of an ID token for which a test has asked the control API, without any sign-in.
    func token(for wanted: TokenRequest, in exchange: Exchange) throws -> TokenDraft?
    /// Returns the person with this `sub` in ID tokens for `client`; `nil` when nobody has this `sub`.
    func subject(_ subject: String, of client: String, in world: World) -> KnownSubject?
}

/// A provider whose ID tokens may have no signature.
package protocol LeavesTokensUnsigned: MintsIDTokens {
    /// Returns whether ID tokens for `client` may have no signature.
    func leavesUnsigned(tokensFor client: String, in world: World) -> Bool
}

/// A provider whose clients sign their client secrets themselves, as Apple's do.
package protocol SignsClientSecrets: Provider {
    /// Returns the IDs of the clients in the seed (the initial data) that sign their client secrets themselves.
    static func clientsThatSign(in seed: Seed) -> [String]
    /// Makes a client secret for a client that signs its client secrets with a key of its own. Returns `nil` when the
    /// seed (the initial data) has no such client at this provider.
    static func clientSecret(
        for wanted: ClientSecretRequest, seed: Seed
    ) throws(ClientSecretRequest.Refusal) -> String?
}

/// A provider whose own tools export data to a directory and import it, as Firebase's do.
package protocol ExportsData: Provider {
    /// Reads the data that the provider's own tools have exported to a directory.
    ///
    /// - Throws: All mistakes in the directory's files, each with the file's name and the place in the file.
    static func exportedData(at directory: String, for seed: Seed) throws(Issues) -> (any ExportedData)?
    /// Writes the data of a test world to a directory as the provider's own tools export it, completely or not at all.
    /// Returns `false` when there is nothing to export.
    func export(_ world: World, to directory: String) throws -> Bool
}

/// A provider that adds people or settings to a test world when the world's seed (initial data) is extended while the
/// daemon runs.
package protocol ExtendsWorlds: Provider {
    /// Adds to the test world's tables what its present seed (initial data) has in addition to the `earlier` seed. The
    /// world keeps all other data.
    func seedExtended(in world: World, after earlier: Seed) throws(StoreFailure)
}

/// A provider that gives people a private-relay address, which forwards mail to their real address.
package protocol RelaysMail: Provider {
    /// Returns the verdict on a mail to a private-relay address, such as that it is forwarded; `nil` when the
    /// recipient's address isn't a private-relay address of this provider.
    func relay(_ mail: MailInTransit) throws -> RelayVerdict?
}

/// A provider that can accept values, such as a client ID, that aren't in the seed (the initial data).
package protocol TakesUnseeded: Provider {
    /// Returns phrases for the daemon's web pages about the values that the provider has accepted in this test world
    /// although they aren't in the seed (the initial data).
    func takenOnTrust(in world: World) -> [String]
}

/// A provider that keeps directories of the users of apps, as Firebase does.
package protocol HasUserDirectories: Provider {
    /// Returns at most `limit` user directories, such as those of Firebase's projects. `cursor` comes from the previous
    /// page of the list; `nil` asks for the first page.
    func userDirectories(after cursor: String?, limit: Int, in exchange: Exchange) throws -> UserDirectoryPage
    func userDirectory(_ id: String, in exchange: Exchange) throws -> (any UserDirectory)?
}

/// A provider at which clients can register themselves (dynamic client registration).
package protocol TakesClients {
    /// Returns the clients that have registered themselves at the provider, oldest first.
    func registeredClients(in world: World, limit: Int) -> [SeededClient]
}

/// A provider with protected resources beside its authorization servers.
package protocol ProtectsResources {
    /// The names of the provider's protected resources: the resource `corp` is at `/mcp/corp`.
    var resourceIDs: [String] { get }
    /// Returns the environment variables by which a client finds a protected resource. `url` is the daemon's URL.
    func variables(ofResource id: String, daemon url: String) -> [(name: String, value: String)]
}

/// A provider for which the seed (the initial data) sets addresses below the daemon's own host name, such as
/// `http://localhost:9099/oidc/corp`.
package protocol ExplainsOwnAddresses {
    /// Returns an error response that explains why nothing is served at the request's address, which is at the daemon's
    /// own host name. Returns `nil` if the request wasn't meant for this provider.
    func unserved(_ exchange: Exchange) -> Response?
}
