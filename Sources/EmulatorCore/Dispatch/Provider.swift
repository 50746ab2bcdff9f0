import HTTPServer
import JSON

/// What is fixed about a provider, whatever a seed says.
package struct ProviderFacts: Sendable {
    /// The provider's name in the control API and the seed: one word in lower case.
    package let name: String
    /// The provider's name as people write it.
    package let title: String
    /// Its section of the seed; `nil` for a provider that needs none.
    package let section: (any SeedSection.Type)?
    /// Its part of an account; `nil` for a provider at which people have none, and so authorize nothing.
    package let profile: (any AccountProfile.Type)?
    /// The types of all rows that the provider puts into a world's tables. Providers that share tables each declare them.
    package let rows: [any Row.Type]
    /// The types of the values that it keeps in a world.
    package let values: [any WorldValue.Type]
    /// The environment variables by which a program finds the provider at the daemon with this URL.
    package let variables: @Sendable (_ daemon: String) -> [(name: String, value: String)]
    /// The choices that a person has on the provider's sign-in page, and that an outcome can make for them.
    package let choices: Set<PersonalChoice>
    /// Whether it signs people in by other providers, as a service between them and an app.
    package let isService: Bool
    /// The members of the answer at `/` of the daemon by which programs recognize the provider's own emulator.
    package let emulatorStatus: JSONObject

    package init(
        name: String, title: String, section: (any SeedSection.Type)? = nil, profile: (any AccountProfile.Type)? = nil,
        rows: [any Row.Type] = [], values: [any WorldValue.Type] = [], choices: Set<PersonalChoice> = [.scopes],
        isService: Bool = false, emulatorStatus: JSONObject = JSONObject(),
        variables: @escaping @Sendable (_ daemon: String) -> [(name: String, value: String)] = { _ in [] }
    ) {
        (self.name, self.title, self.section, self.profile) = (name, title, section, profile)
        (self.rows, self.values, self.choices, self.isService) = (rows, values, choices, isService)
        (self.emulatorStatus, self.variables) = (emulatorStatus, variables)
    }
}

/// A provider that is played: who it is, what it serves, and its words for requests that it can't read. Whatever only some providers can do is a
/// protocol of its own, which a provider conforms to or doesn't.
package protocol Provider: Sendable {
    static var facts: ProviderFacts { get }

    init(seed: Seed)

    /// All that the provider serves, at its hosts, at the daemon's own address and in the control API.
    ///
    /// Where several fit a request, the first one answers: fixed paths stand before those with parameters.
    var endpoints: [Endpoint] { get }
    /// The provider's own words for a request to one of its endpoints that holds too many fields, or texts that are too
    /// long; `nil` when it has none.
    func overBudget(_ exchange: Exchange, _ diagnosis: Diagnosis) throws -> Response?
    /// The client whose request it is, where the provider knows more than the request's fields say.
    func client(of exchange: Exchange) -> String?
    /// Ends one token that it has given out, and says what it was: an access or a refresh token, and whose. `nil` for a text
    /// that is none of its tokens.
    func endToken(_ text: String, in exchange: Exchange) throws -> (kind: String, client: String)?
    /// Tells how clients of each kind are led here.
    func setUpGuides(at place: SetUpPlace) -> [SetUpGuide]
}

extension Provider {
    package static var title: String { facts.title }
    package static var section: (any SeedSection.Type)? { facts.section }
    package static var profile: (any AccountProfile.Type)? { facts.profile }
    package var facts: ProviderFacts { Self.facts }
    package var name: String { Self.facts.name }

    /// The names of all hosts at which it serves something.
    package var hosts: Set<String> { Set(endpoints.flatMap(\.hosts)) }
}

// MARK: - What only some providers can do

/// A provider with words of its own for addresses that it doesn't serve.
package protocol RefusesUnserved: Provider {
    /// The provider's own words for an address that it doesn't serve, or not with that method; `nil` when the address isn't
    /// the provider's.
    func notServed(_ exchange: Exchange) throws -> Response?
}

/// A provider with short addresses at the daemon's own name.
package protocol HasAliases: Provider {
    var aliases: [HostAlias] { get }
}

/// A provider at which people grant apps something, and that gives out codes and tokens for it.
package protocol KeepsGrants: Provider {
    /// The code or token that it has given out in this world; `nil` when it is none of the provider's, or forgotten.
    func issued(_ text: String, in world: World) -> IssuedValue?
    /// Removes what an account has here, in the transaction that removes the account. `reason` is what refusals of its codes and tokens
    /// say from then on. Returns what is to be done once that is so.
    func accountDeleted(
        _ account: String, because reason: String, from tables: inout Transaction
    ) -> (@Sendable (_ exchange: Exchange) throws -> Void)?
    /// Shows for the inspector what the provider has of a person, what the person has granted, and where the person is signed in.
    func sections(of account: Account, in exchange: Exchange) -> [InspectedSection]
    /// The ID of the account that the provider calls so; `nil` when it calls nobody so, or when that can't be found without looking at
    /// everybody.
    func account(named subject: String, in world: World) -> String?
}

/// A provider that knows for a while why a code or token doesn't work any more.
package protocol RemembersEndedTokens: Provider {
    /// The reason in words after what the code or token is called; `nil` when it isn't known.
    func ended(_ text: String, in world: World) -> String?
}

/// A provider that mints ID tokens.
package protocol MintsIDTokens: Provider {
    /// The content of an ID token that is asked for without a sign-in.
    func token(for wanted: TokenRequest, in exchange: Exchange) throws -> TokenDraft?
    /// The person whom `subject`, the `sub` of an ID token for `client`, means; `nil` when nobody is known by it.
    func subject(_ subject: String, of client: String, in world: World) -> KnownSubject?
}

/// A provider whose ID tokens may have no signature.
package protocol LeavesTokensUnsigned: MintsIDTokens {
    /// Whether those for `client` may have none.
    func leavesUnsigned(tokensFor client: String, in world: World) -> Bool
}

/// A provider with clients that sign their own secrets.
package protocol SignsClientSecrets: Provider {
    /// The clients of the seed that do.
    static func clientsThatSign(in seed: Seed) -> [String]
    /// Signs a secret for such a client; `nil` when the seed has none of that name at this provider.
    static func clientSecret(
        for wanted: ClientSecretRequest, seed: Seed
    ) throws(ClientSecretRequest.Refusal) -> String?
}

/// A provider whose own tools export data to a directory and import it.
package protocol ExportsData: Provider {
    /// Reads what the tools have exported.
    ///
    /// - Throws: Everything that is wrong in the directory, with file and path.
    static func exportedData(at directory: String, for seed: Seed) throws(Issues) -> (any ExportedData)?
    /// Writes what the tools would export of a world, wholly or not at all. `false` when there is nothing to export.
    func export(_ world: World, to directory: String) throws -> Bool
}

/// A provider that brings people or settings of the seed to a world's tables.
package protocol ExtendsWorlds: Provider {
    /// Brings to the tables what the provider had put there of the `earlier` seed: the world's seed, from which this provider was made,
    /// extends that one, and the world goes on with all that it has.
    func seedExtended(in world: World, after earlier: Seed) throws(StoreFailure)
}

/// A provider that gives people an address in place of their own.
package protocol RelaysMail: Provider {
    /// The verdict on a mail to such an address; `nil` when the address isn't one of the provider's relay.
    func relay(_ mail: MailInTransit) throws -> RelayVerdict?
}

/// A provider that can take what no seed holds.
package protocol TakesUnseeded: Provider {
    /// What it has taken in this world, a phrase each, for the inspector.
    func takenOnTrust(in world: World) -> [String]
}

/// A provider with users of apps.
package protocol HasUserDirectories: Provider {
    /// At most `limit` directories. `after` is the cursor of an earlier page.
    func userDirectories(after cursor: String?, limit: Int, in exchange: Exchange) throws -> UserDirectoryPage
    /// The directory with an ID; `nil` when there is none.
    func userDirectory(_ id: String, in exchange: Exchange) throws -> (any UserDirectory)?
}

/// A provider at which clients register themselves.
package protocol TakesClients {
    /// The clients that have registered themselves, oldest first.
    func registeredClients(in world: World, limit: Int) -> [SeededClient]
}

/// A provider beside whose authorization servers are protected resources.
package protocol ProtectsResources {
    /// The names of the resources: `corp` is the one at `/mcp/corp`.
    var resourceIDs: [String] { get }
    /// The environment variables by which a client finds a resource at the daemon whose address is `url`.
    func variables(ofResource id: String, daemon url: String) -> [(name: String, value: String)]
}

/// A provider that is played at the daemon's own name, at addresses that a seed decides on.
package protocol ExplainsOwnAddresses {
    /// The refusal of a request at an address there, if it was meant for this provider: it says why nothing is served. `nil` for any
    /// other.
    func unserved(_ exchange: Exchange) -> Response?
}
