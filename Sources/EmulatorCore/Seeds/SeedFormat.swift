import JSON
import Worlds

/// The format of seed files, which has members common to all providers, and members of each provider.
package struct SeedFormat: Sendable {
    package let sections: [any SeedSection.Type]
    package let profiles: [any AccountProfile.Type]
    package let account: ComposedRule<Account>
    /// The rule that checks the JSON of a sign-in result. Tests set such results in advance, in a seed or by the
    /// control API. The sign-in's provider must be one that has profiles of people.
    package let outcome: ComposedRule<Outcome>
    private let lazyStored: Lazy<StoredTypes>
    private let lazyCoder: Lazy<StoredCoder>
    let contents: ComposedRule<SeedContents>
    private let providers: [any Provider.Type]

    /// Makes the format of seed files. `providers` are in the order in which the format lists them. `rows` are types of
    /// table rows in test worlds, in addition to those that the providers declare.
    package init(
        _ providers: [any Provider.Type], rows: [any Row.Type] = []
    ) {
        let sections = providers.compactMap { $0.section }
        let profiles = providers.compactMap { $0.profile }
        let names = profiles.map { $0.name }
        let account = ComposedRule("Account") { Account(&$0, profiles: profiles) }
        let outcome = ComposedRule("Outcome") { Outcome(&$0, providers: names) }
        self.providers = providers
        self.sections = sections
        self.profiles = profiles
        self.account = account
        self.outcome = outcome
        lazyStored = Lazy {
            StoredTypes(
                rows: SeedFormat.coreRows + rows + providers.flatMap { $0.facts.rows },
                values: SeedFormat.coreValues + providers.flatMap { $0.facts.values })
        }
        lazyCoder = Lazy {
            StoredCoder(decoding: CodingUserInfoKey.accountProfiles.map { [$0: profiles] } ?? [:])
        }
        contents = ComposedRule("Seed") { SeedContents(&$0, sections: sections, account: account, outcome: outcome) }
    }

    /// The types of rows and values that the tables of a test world can hold. They are collected on first use, because
    /// test worlds in memory don't need them.
    package var stored: StoredTypes { lazyStored.value }
    /// The coder for the rows and values of a test world's tables. It can decode accounts, because it has the types of
    /// the providers' profiles.
    package var coder: StoredCoder { lazyCoder.value }

    private static let coreRows: [any Row.Type] = [Account.self, InboxMessage.self, StoredKeys.self]
    private static let coreValues: [any WorldValue.Type] = [
        FaultQueue.self, Inbox.self, OutcomeQueue.self, PlayedScenarios.self, PreparedWorld.self, RandomSource.self,
        StoredSeed.self, WorldClock.self,
    ]

    /// The host names that a seed can't add: the hosts that providers always serve, and the first segments of the
    /// daemon's own paths. In `http://localhost:9099/HOST/…`, a host named like such a segment would hide the daemon's
    /// own path.
    var reservedNames: (hosts: Set<String>, segments: Set<String>) {
        let endpoints = providers.flatMap { $0.init(seed: nothing).endpoints }
        let own = endpoints.filter(\.hosts.isEmpty).compactMap { $0.path.split(separator: "/").first.map(String.init) }
        return (hosts: Set(endpoints.flatMap(\.hosts)), segments: Set(own + ["favicon.ico"]))
    }

    /// A seed without any members, so that everything has its default.
    package var nothing: Seed { Seed(reading: LocatedJSON([:], file: ""), keys: [:], format: self) }

    /// The schema of a whole seed file, which `docs/seed.md` describes.
    package var schema: Schema { contents.schema }

    /// The reference of the seed file format, as Markdown.
    package var reference: String {
        """
        # Seed files

        What a seed file can hold. How files are read and merged is in [seeds.md](seeds.md). `[]` in a heading stands
        for each element of a list.

        This file is printed by `understudy seed schema --markdown`.


        """ + SchemaReference.markdown(schema, root: "The file")
    }

    /// The JSON Schema of a seed file, for editors.
    package var jsonSchema: JSONValue {
        schema.jsonSchema(
            title: "Understudy seed file",
            description: "The users, clients and projects of the stand-in identity provider. For tests only.")
    }
}

/// The contents of all seed files after they were merged.
struct SeedContents: Sendable {
    let accounts: [Account]
    let sections: [any SeedSection]
    let interaction: Interaction
    let clock: Seed.Clock
    let randomSeed: String?
    let asOf: Day?
    let outcomes: [Outcome]
    let faults: [Fault]

    init(
        _ fields: inout Fields, sections types: [any SeedSection.Type], account: ComposedRule<Account>,
        outcome: ComposedRule<Outcome>
    ) {
        _ = fields.optional("$schema", .text(.any), "For editors; ignored.")
        accounts = fields.list("accounts", of: account, key: "id", "The people who can sign in.")
        var sections: [any SeedSection] = []
        for type in types { sections.append(SeedContents.section(type, &fields)) }
        self.sections = sections
        interaction = fields.object(
            "interaction", Interaction.self,
            "Whether authorization requests show a sign-in page, or are answered without a page.")
        clock = fields.object("clock", Seed.Clock.self, "The test world's clock; the machine's clock by default.")
        randomSeed = fields.nullable(
            "randomSeed", .text(.nonEmpty),
            "A text from which codes, tokens and identifiers are made, so that they are the same in every run.")
        asOf = fields.nullable(
            "asOf", .text(.day),
            "The providers behave as on this day, such as `2026-04-01`; `next` is a day after all announced changes. "
                + "The default is the latest day that this version knows. The day is independent of the clock. "
                + "`understudy changes` lists the changes."
        ).flatMap { Day($0) }
        outcomes = fields.sequence(
            "outcomes", of: outcome,
            "Results, set in advance, of the test world's first authorization requests. These requests show no page."
        ).enumerated().map { $1.named("seed-outcome-\($0 + 1)") }
        faults = fields.sequence("faults", of: Fault.self, "The simulated faults that the test world starts with.")
            .enumerated().map { $1.named("seed-fault-\($0 + 1)") }
    }

    private static func section<Section: SeedSection>(_ type: Section.Type, _ fields: inout Fields) -> Section {
        fields.object(Section.name, Section.self, Section.about)
    }
}

/// The section of a seed that configures one provider. Each provider declares its own section.
package protocol SeedSection: SchemaObject {
    /// The name of the provider, and of the provider's section in a seed.
    static var name: String { get }
    /// A sentence that describes the provider's section in the documentation of seed files.
    static var about: String { get }
    /// The signing keys in the provider's section of the seed, grouped by the issuer that signs with them. Empty if the
    /// provider signs no tokens.
    var keys: [SeededKeys] { get }
    /// The clients that the provider's section of the seed registers, for lists and searches.
    var seededClients: [SeededClient] { get }
    /// The host names that the provider's section of the seed adds to the provider's own ones. The daemon serves both.
    var hosts: [String] { get }
    /// Whether the issuer in tokens is the address to which the client sends its request, and not the provider's own
    /// address.
    var issuerFollowsRequest: Bool { get }

    /// Returns the secret of the client with this ID in the provider's section of the seed (initial data). `nil` if the
    /// section doesn't have the client, or if the client has no secret.
    func secret(ofClient id: String) -> String?
    /// Returns whether a client with this ID is registered in the seed, or is made when it is first used.
    func knows(client id: String) -> Bool

    /// Checks the references in the provider's section of the seed: everything that is referred to must exist.
    static func check(_ references: inout SeedReferences)
}

extension SeedSection {
    package var keys: [SeededKeys] { [] }
    package var hosts: [String] { [] }
    package var issuerFollowsRequest: Bool { false }

    package func secret(ofClient id: String) -> String? { nil }

    package func knows(client id: String) -> Bool { seededClients.contains { $0.id == id } }

    package static func check(_ references: inout SeedReferences) {}
}

/// A client of the seed, or something similar such as a project, as the inspector lists it.
package struct SeededClient: Sendable {
    package let id: String
    package let kind: String
    /// The client's redirect URIs, separated by spaces. A client without redirect URIs has a description in their
    /// place, such as its API keys.
    package let addresses: String

    package init(id: String, kind: String, addresses: String) {
        self.id = id
        self.kind = kind
        self.addresses = addresses
    }
}
