import HTTPServer
import JSON
import Worlds

/// The facts about a provider that don't depend on a seed.
package struct ProviderFacts: Sendable {
    /// The provider's name in the control API and the seed: one word in lower case.
    package let name: String
    /// The provider's name as people write it.
    package let title: String
    /// The provider's section of the seed; `nil` for a provider that needs none.
    package let section: (any SeedSection.Type)?
    /// The provider's part of an account; `nil` for a provider at which people have no account, and authorize nothing.
    package let profile: (any AccountProfile.Type)?
    /// The types of all rows that the provider puts into a world's tables. Providers that share tables each declare
    /// them.
    package let rows: [any Row.Type]
    /// The types of the values that the provider keeps in a world.
    package let values: [any WorldValue.Type]
    /// Returns the environment variables by which a program finds the provider at the daemon with this URL.
    package let variables: @Sendable (_ daemon: String) -> [(name: String, value: String)]
    /// The choices that a person has on the provider's sign-in page, and that an outcome can make for them.
    package let choices: Set<PersonalChoice>
    /// Whether the provider signs people in by other providers, as a service between these and an app.
    package let isService: Bool
    /// The members of the answer at `/` of the daemon by which programs recognize the provider's own emulator.
    package let emulatorStatus: JSONObject
    /// The provider's behaviours that began or ended on a known day.
    package let changes: [Change]
    /// Returns the evidence for its errors, claims, headers and limits.
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

/// A played provider: its facts, its endpoints, and its words for requests that it can't read. Abilities of only some
/// providers are protocols of their own.
package protocol Provider: Sendable {
    static var facts: ProviderFacts { get }

    init(seed: Seed)

    /// The endpoints at the provider's hosts, at the daemon's own address and in the control API.
    ///
    /// Of several that match a request, the first one answers, so fixed paths come before those with parameters.
    var endpoints: [Endpoint] { get }
    /// Returns the provider's own words for a request with too many fields, or texts that are too long; `nil` when it
    /// has none.
    func overBudget(_ exchange: Exchange, _ diagnosis: Diagnosis) throws -> Response?
    /// Returns the client of a request, if the provider knows more than the request's fields say.
    func client(of exchange: Exchange) -> String?
    /// Ends a token that the provider has given out. Returns whether it is an access or a refresh token, and its
    /// client; `nil` for a text that is none of its tokens.
    func endToken(_ text: String, in exchange: Exchange) throws -> (kind: String, client: String)?
    /// Returns the guides to how clients of each kind are set up for this provider.
    func setUpGuides(at place: SetUpPlace) -> [SetUpGuide]
}

extension Provider {
    package static var title: String { facts.title }
    package static var section: (any SeedSection.Type)? { facts.section }
    package static var profile: (any AccountProfile.Type)? { facts.profile }
    package var facts: ProviderFacts { Self.facts }
    package var name: String { Self.facts.name }

    /// The names of all hosts with endpoints of the provider.
    package var hosts: Set<String> { Set(endpoints.flatMap(\.hosts)) }
}

// MARK: - What only some providers can do

/// A provider with words of its own for addresses that it doesn't serve.
package protocol RefusesUnserved: Provider {
    /// Returns the provider's own words for an address that it doesn't serve, or not with that method; `nil` when the
    /// address isn't the provider's.
    func notServed(_ exchange: Exchange) throws -> Response?
}

/// A provider with short addresses at the daemon's own name.
package protocol HasAliases: Provider {
    var aliases: [HostAlias] { get }
}

/// A provider that gives out codes and tokens for what people grant to apps.
package protocol KeepsGrants: Provider {
    /// Returns a code or token that the provider has given out in this world; `nil` when it is none of the provider's,
    /// or forgotten.
    func issued(_ text: String, in world: World) -> IssuedValue?
    /// Removes an account's rows at this provider, in the transaction that removes the account. Refusals of its codes
    /// and tokens give `reason` from then on. Returns work to do after the commit.
    func accountDeleted(
        _ account: String, because reason: String, from tables: inout Transaction
    ) -> (@Sendable (_ exchange: Exchange) throws -> Void)?
    /// Returns sections for the inspector: the provider's data about a person, what the person has granted, and where
    /// the person is signed in.
    func sections(of account: Account, in exchange: Exchange) -> [InspectedSection]
    /// Returns the account with this identifier at the provider; `nil` when there is none, or finding it would mean
    /// reading every account.
    func account(named subject: String, in world: World) -> String?
}

/// A provider that remembers for a while why a code or token doesn't work any more.
package protocol RemembersEndedTokens: Provider {
    /// Returns what is remembered of a code or token that ended; `nil` when nothing is.
    func ended(_ text: String, in world: World) -> EndedValue?
}

/// A code or token that doesn't work any more.
package struct EndedValue: Sendable {
    /// The reason as a clause, such as "the person removed the app".
    package let reason: String
    /// The account that the credential was issued for, if that is known.
    package let account: String?

    package init(reason: String, account: String?) { (self.reason, self.account) = (reason, account) }
}

/// A provider that mints ID tokens.
package protocol MintsIDTokens: Provider {
    /// Returns the content of an ID token that the control API asks for, without a sign-in.
    func token(for wanted: TokenRequest, in exchange: Exchange) throws -> TokenDraft?
    /// Returns the person with this `sub` in ID tokens for `client`; `nil` when nobody has this `sub`.
    func subject(_ subject: String, of client: String, in world: World) -> KnownSubject?
}

/// A provider whose ID tokens may have no signature.
package protocol LeavesTokensUnsigned: MintsIDTokens {
    /// Returns whether tokens for `client` may have none.
    func leavesUnsigned(tokensFor client: String, in world: World) -> Bool
}

/// A provider with clients that sign their own secrets.
package protocol SignsClientSecrets: Provider {
    /// Returns the clients of the seed that sign their secrets.
    static func clientsThatSign(in seed: Seed) -> [String]
    /// Signs a secret for such a client; `nil` when the seed has none of that name at this provider.
    static func clientSecret(
        for wanted: ClientSecretRequest, seed: Seed
    ) throws(ClientSecretRequest.Refusal) -> String?
}

/// A provider whose own tools export data to a directory and import it.
package protocol ExportsData: Provider {
    /// Reads the data that the tools have exported.
    ///
    /// - Throws: All mistakes in the directory, each with file and path.
    static func exportedData(at directory: String, for seed: Seed) throws(Issues) -> (any ExportedData)?
    /// Writes what the tools would export of a world, completely or not at all. Returns `false` when there is nothing
    /// to export.
    func export(_ world: World, to directory: String) throws -> Bool
}

/// A provider that adds people or settings of the seed to a world's tables.
package protocol ExtendsWorlds: Provider {
    /// Updates the tables, which have the provider's rows of the `earlier` seed, to the world's seed, of which this
    /// provider was made and which extends that one. The world keeps all that it has.
    func seedExtended(in world: World, after earlier: Seed) throws(StoreFailure)
}

/// A provider that gives people a private-relay address.
package protocol RelaysMail: Provider {
    /// Returns the verdict on a mail to such an address; `nil` when the address isn't one of the provider's relay.
    func relay(_ mail: MailInTransit) throws -> RelayVerdict?
}

/// A provider that can accept values that aren't in the seed.
package protocol TakesUnseeded: Provider {
    /// Returns phrases about the values that the provider has accepted in this world, for the inspector.
    func takenOnTrust(in world: World) -> [String]
}

/// A provider with users of apps.
package protocol HasUserDirectories: Provider {
    /// Returns at most `limit` directories. `after` is the cursor of an earlier page.
    func userDirectories(after cursor: String?, limit: Int, in exchange: Exchange) throws -> UserDirectoryPage
    /// Returns the directory with an ID; `nil` when there is none.
    func userDirectory(_ id: String, in exchange: Exchange) throws -> (any UserDirectory)?
}

/// A provider at which clients register themselves.
package protocol TakesClients {
    /// Returns the clients that have registered themselves, oldest first.
    func registeredClients(in world: World, limit: Int) -> [SeededClient]
}

/// A provider with protected resources beside its authorization servers.
package protocol ProtectsResources {
    /// The names of the resources: `corp` is the one at `/mcp/corp`.
    var resourceIDs: [String] { get }
    /// Returns the environment variables by which a client finds a resource at the daemon whose address is `url`.
    func variables(ofResource id: String, daemon url: String) -> [(name: String, value: String)]
}

/// A provider with addresses below the daemon's own host name, which the seed sets, such as
/// `http://localhost:9099/oidc/corp`.
package protocol ExplainsOwnAddresses {
    /// Returns the refusal of a request at an address of the daemon's own that was meant for this provider: it says why
    /// nothing is served. Returns `nil` for any other request.
    func unserved(_ exchange: Exchange) -> Response?
}
