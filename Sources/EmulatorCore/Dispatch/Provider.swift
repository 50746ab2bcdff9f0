import HTTPServer
import JSON

/// A provider, as the dispatcher sees it: what it serves, and its words for what it doesn't.
package protocol Provider: ValueExplainer, SeedStarter, Sendable {
    /// Its section of the seed; `nil` for a provider that needs none.
    static var section: (any SeedSection.Type)? { get }
    /// Its part of an account; `nil` for a provider at which people have none, and so authorize nothing.
    static var profile: (any AccountProfile.Type)? { get }
    /// The types of all rows that it puts into a world's tables, and of the values that it keeps in a world. Providers that share
    /// tables each declare them.
    static var rows: [any Row.Type] { get }
    static var values: [any WorldValue.Type] { get }
    /// What programs recognize the provider's own emulator by, among what `/` answers at the daemon's address.
    static var emulatorStatus: JSONObject { get }

    /// Reads what the provider's own tools have exported to a directory; `nil` from a provider that has no such tools.
    ///
    /// - Throws: Everything that is wrong in the directory, with file and path.
    static func exportedData(at directory: String, for seed: Seed) throws(Issues) -> (any ExportedData)?

    init(seed: Seed)

    /// The clients of the seed that sign their own secrets.
    static func clientsThatSign(in seed: Seed) -> [String]
    /// Signs a secret for such a client; `nil` when the seed has none of that name at this provider.
    static func clientSecret(
        for wanted: ClientSecretRequest, seed: Seed
    ) throws(ClientSecretRequest.Refusal) -> String?

    /// Environment variables by which a program finds the provider at the daemon whose address is `url`.
    static func variables(daemon url: String) -> [(name: String, value: String)]

    /// What a person can choose on its sign-in page, and an outcome for them.
    static var personChooses: Set<PersonalChoice> { get }

    /// As the control API and the seed name it: one word in lower case.
    var name: String { get }
    /// All that the provider serves, at its hosts, at the daemon's own address and in the control API.
    ///
    /// Where several fit a request, the first one answers: fixed paths stand before those with parameters.
    var operations: [Operation] { get }
    /// Short addresses of what it serves.
    var aliases: [HostAlias] { get }
    /// The provider's own words for an address that it doesn't serve, or not with that method; `nil` when the address isn't
    /// the provider's, or when it has no words of its own.
    func notServed(_ exchange: Exchange) throws -> Response?
    /// The provider's own words for a request to one of its operations that holds too many fields, or texts that are too
    /// long; `nil` when it has none.
    func overBudget(_ exchange: Exchange, _ diagnosis: Diagnosis) throws -> Response?
    /// What an ID token holds that is asked for without a sign-in; `nil` from a provider that mints none.
    func token(for wanted: TokenRequest, in exchange: Exchange) throws -> TokenDraft?
    /// The client whose request it is, where the provider knows more than the request's fields say.
    func client(of exchange: Exchange) -> String?
    /// What an exchange at one of its operations was for, where that is more than OAuth's own words say. `operation` is `nil` where
    /// nothing is served.
    func step(of exchange: RecordedExchange, at operation: Operation?) -> Step?
    /// Whether it signs people in by other providers, as a service between them and an app.
    var isService: Bool { get }
    /// The code or token that it has given out in this world; `nil` when it is none of the provider's, or forgotten.
    func issued(_ text: String, in world: World) -> IssuedValue?
    /// Why a code or token that it has given out in this world works no more, in words after what it is called; `nil` when that isn't
    /// known.
    func ended(_ text: String, in world: World) -> String?
    /// Whom `subject`, the `sub` of an ID token of the provider's for `client`, means; `nil` when nobody is known by it.
    func subject(_ subject: String, of client: String, in world: World) -> KnownSubject?
    /// Whether its ID tokens for `client` may have no signature.
    func leavesUnsigned(tokensFor client: String, in world: World) -> Bool
    /// What its operations do, in a few words, by method and path as the catalogue has them: `"POST /auth/token": "redeem a
    /// code"`. Those of sign-ins have names, the rest needn't.
    var endpointNames: [String: String] { get }
    /// How clients of each kind are led here.
    func setUpGuides(at place: SetUpPlace) -> [SetUpGuide]
    /// What no seed holds and the provider has taken in this world all the same, a phrase each, for the inspector.
    func takenOnTrust(in world: World) -> [String]
    /// What surprises an app's developer at an answer that refuses nothing, such as a name that is missing: a sentence each, for
    /// the inspector. `flow` are the exchanges of its sign-in. Only asked for exchanges of the provider's own operations.
    func remarks(on exchange: RecordedExchange, in flow: [RecordedExchange]) -> [String]
    /// Writes what those tools would export of a world, wholly or not at all. `false` when there is nothing to export.
    func export(_ world: World, to directory: String) throws -> Bool
    /// The world's seed, from which this provider was made, extends `earlier`, and the world goes on with all that it has: brings
    /// to its tables what the provider had put there of the earlier seed.
    func seedExtended(in world: World, after earlier: Seed) throws(StoreFailure)
    /// Removes what an account has here, in the transaction that removes the account. `reason` is what refusals of its codes and tokens
    /// say from then on. Returns what is to be done once that is so.
    func accountDeleted(
        _ account: String, because reason: String, from tables: inout Transaction
    ) -> (@Sendable (_ exchange: Exchange) throws -> Void)?
    /// What becomes of a mail to an address that it gave to somebody who hides the own one; `nil` when the address isn't one of the
    /// provider's relay.
    func relay(_ mail: MailInTransit) throws -> RelayVerdict?

    // MARK: For people who look

    /// What it shows of a person, what the person has granted, and where the person is signed in.
    func sections(of account: Account, in exchange: Exchange) -> [InspectedSection]
    /// Whom it calls so; `nil` when it calls nobody so, or when that can't be found without looking at everybody.
    func account(named subject: String, in world: World) -> String?
    /// Ends one token that it has given out, and says what it was: an access or a refresh token, and whose. `nil` for a text
    /// that is none of its tokens.
    func endToken(_ text: String, in exchange: Exchange) throws -> (kind: String, client: String)?
    /// The users that apps have here: at most `limit` directories. `after` is the cursor of an earlier page.
    func userDirectories(after cursor: String?, limit: Int, in exchange: Exchange) throws -> UserDirectoryPage
    /// The directory with an ID; `nil` when there is none.
    func userDirectory(_ id: String, in exchange: Exchange) throws -> (any UserDirectory)?
}

extension Provider {
    package static var section: (any SeedSection.Type)? { nil }
    package static var profile: (any AccountProfile.Type)? { nil }
    package static var rows: [any Row.Type] { [] }
    package static var values: [any WorldValue.Type] { [] }
    package static var emulatorStatus: JSONObject { JSONObject() }

    package var endpointNames: [String: String] { [:] }
    package static var personChooses: Set<PersonalChoice> { [.scopes] }

    package static func variables(daemon url: String) -> [(name: String, value: String)] { [] }

    package static func exportedData(at directory: String, for seed: Seed) throws(Issues) -> (any ExportedData)? { nil }

    package static func clientsThatSign(in seed: Seed) -> [String] { [] }

    package static func clientSecret(
        for wanted: ClientSecretRequest, seed: Seed
    ) throws(ClientSecretRequest.Refusal) -> String? { nil }

    package func export(_ world: World, to directory: String) throws(File.Failure) -> Bool { false }

    package var aliases: [HostAlias] { [] }

    package func notServed(_ exchange: Exchange) throws -> Response? { nil }

    package func seedExtended(in world: World, after earlier: Seed) throws(StoreFailure) {}

    package func overBudget(_ exchange: Exchange, _ diagnosis: Diagnosis) -> Response? { nil }

    package func client(of exchange: Exchange) -> String? { nil }

    package func step(of exchange: RecordedExchange, at operation: Operation?) -> Step? { nil }

    package var isService: Bool { false }

    package func relay(_ mail: MailInTransit) throws -> RelayVerdict? { nil }

    package func issued(_ text: String, in world: World) -> IssuedValue? { nil }

    package func ended(_ text: String, in world: World) -> String? { nil }

    package func subject(_ subject: String, of client: String, in world: World) -> KnownSubject? { nil }

    package func leavesUnsigned(tokensFor client: String, in world: World) -> Bool { false }

    package func setUpGuides(at place: SetUpPlace) -> [SetUpGuide] { [] }

    package func takenOnTrust(in world: World) -> [String] { [] }

    package func remarks(on exchange: RecordedExchange, in flow: [RecordedExchange]) -> [String] { [] }

    package func token(for wanted: TokenRequest, in exchange: Exchange) throws -> TokenDraft? { nil }

    package func sections(of account: Account, in exchange: Exchange) -> [InspectedSection] { [] }

    package func account(named subject: String, in world: World) -> String? { nil }

    package func endToken(_ text: String, in exchange: Exchange) throws -> (kind: String, client: String)? { nil }

    package func userDirectories(after cursor: String?, limit: Int, in exchange: Exchange) -> UserDirectoryPage {
        UserDirectoryPage()
    }

    package func userDirectory(_ id: String, in exchange: Exchange) -> (any UserDirectory)? { nil }

    /// The names of all hosts at which it serves something.
    package var hosts: Set<String> { Set(operations.flatMap(\.hosts)) }
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
