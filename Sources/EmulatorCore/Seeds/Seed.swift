import JOSE
import JSON
import Time
import Worlds

/// A checked and decoded seed: the people, clients and settings with which test worlds begin.
package struct Seed: Sendable {
    package let format: SeedFormat
    /// The accounts of the people who can sign in at every provider.
    package let people: SeededTable<Account>
    /// The seed's sections, one for each provider, in the order of the seed's format.
    package let sections: [any SeedSection]
    package let interaction: Interaction
    package let clock: Clock
    package let randomSeed: String?
    /// The date of the providers' behaviour that test worlds with this seed imitate; `nil` if the seed names no date.
    package let asOf: Day?
    /// The date of the providers' behaviour that test worlds imitate if their seed names no date.
    package var daemonDay = Day.today
    /// Whether a client on another machine, without the control token, has given this seed or a part of it. Test worlds
    /// with such a seed make the daemon send no requests to its own machine.
    package var isFromElsewhere = false
    package let outcomes: [Outcome]
    package let faults: [Fault]
    /// The faults in the form in which the seed's files have them, so that error messages can name places in the files.
    package let writtenFaults: [LocatedJSON]
    package let writtenOutcomes: [LocatedJSON]
    /// The private and public keys in the seed. Each is found by its PEM text.
    package let keys: [String: Key]
    /// Data that providers' own tools have exported. Test worlds begin with them in addition to the seed.
    var exports: [any ExportedData] = []
    /// The seed files that were merged into this seed, with the key files that they name.
    var sources: [SeedSource] = []

    package struct Clock: SchemaObject {
        package let set: Instant?
        package let freeze: Bool

        package init(_ fields: inout Fields) {
            set = fields.nullable("set", .timestamp, "The time at which the test world's clock starts.")
            freeze = fields("freeze", .boolean, default: false, "Whether the clock stands still until a test moves it.")
        }
    }

    /// Decodes a seed from `json`, which must have been validated.
    init(reading json: LocatedJSON, keys: [String: Key], format: SeedFormat) {
        self.format = format
        self.keys = keys
        writtenFaults = json["faults"]?.items ?? []
        writtenOutcomes = json["outcomes"]?.items ?? []
        let contents = format.contents.value(reading: json.value)
        people = SeededTable(contents.accounts)
        sections = contents.sections
        interaction = contents.interaction
        clock = contents.clock
        randomSeed = contents.randomSeed
        asOf = contents.asOf
        outcomes = contents.outcomes
        faults = contents.faults
    }

    /// The owners of all keys that sign tokens, such as the providers and OpenID issuers.
    package var keyOwners: [KeyOwner] { sections.flatMap { $0.keys.map(\.owner) } }

    package func section(named name: String) -> (any SeedSection)? { sections.first { type(of: $0).name == name } }

    package subscript<Section: SeedSection>(type: Section.Type) -> Section {
        for section in sections where Swift.type(of: section) == type {
            if let section = section as? Section { return section }
        }
        // The format doesn't know the provider, so all members have their defaults.
        return Section(reading: [:])
    }
}

/// A part of a test world's state whose initial value comes from the seed.
protocol SeededValue: WorldValue {
    init(_ seed: Seed)
}

extension WorldClock: SeededValue {
    package init(_ seed: Seed) {
        self.init()
        // Freeze first, so that not a millisecond passes after the time is set.
        if seed.clock.freeze { freeze(true) }
        if let time = seed.clock.set { set(time) }
    }
}

extension RandomSource: SeededValue {
    init(_ seed: Seed) { self.init(seed: seed.randomSeed) }
}

extension Seed: WorldOrigin {
    package var storedTypes: StoredTypes { format.stored }
    package var coder: StoredCoder { format.coder }

    package func rows<R: Row>(of type: R.Type) -> SeededTable<R>? { people as? SeededTable<R> }

    package func value<V: WorldValue>(_ type: V.Type) -> V {
        ((type as? any SeededValue.Type)?.init(self) as? V) ?? V()
    }
}

extension Seed {
    /// Returns the reason why none of `providers` knows a client with the ID `id`, with a hint at similar IDs. Returns
    /// `nil` when one of the providers knows the client, or when none of them has a section in the seed.
    package func unknownClient(_ id: String, at providers: Set<String>) -> String? {
        let asked = sections.filter { providers.contains(type(of: $0).name) }
        guard !asked.isEmpty, !asked.contains(where: { $0.knows(client: id) }) else { return nil }
        let place = providers.count == 1 ? " at \(providers.first ?? "")" : ""
        let message = "there is no client \(Diagnosis.quote(id))\(place) in this test world's seed"
        if let owner = sections.first(where: { $0.seededClients.contains { $0.id == id } }) {
            return "\(message): this ID belongs to a client at \(type(of: owner).name)"
        }
        let known = asked.flatMap(\.seededClients).map(\.id)
        let hint = Spelling.hint(id, among: known)
        guard hint.isEmpty, !known.isEmpty else { return message + hint }
        let more = known.count > 8 ? " and \(known.count - 8) others" : ""
        return "\(message); there are: \(known.prefix(8).joined(separator: ", "))\(more)"
    }
}

/// The setting that decides how authorization requests are answered: by showing the sign-in page, or at once without a
/// page.
package struct Interaction: SchemaObject {
    package enum Mode: String, CaseIterable, Sendable {
        case page
        case auto
    }

    package let mode: Mode
    /// The ID of the account that signs in when no page is shown (mode `auto`); `nil` for the account that was added
    /// first.
    package let account: String?
    package let outcome: Outcome.Kind
    package let details: Outcome.Details

    package init(_ fields: inout Fields) {
        mode = fields(
            "mode", .choice(Mode.self), default: .page,
            "\"page\" shows the sign-in page; \"auto\" signs in without a page.")
        account = fields.nullable(
            "account", .text(.identifier),
            "The account that signs in when the mode is \"auto\"; the first account by default.")
        outcome = fields("outcome", .choice(Outcome.Kind.self), default: .approve, "What mode \"auto\" answers.")
        details = Outcome.Details(&fields)
    }

    /// Returns the result that all authorization requests to the provider have in mode `auto`, which shows no page.
    /// Returns `nil` in mode `page`.
    func standing(provider: String) -> Outcome? {
        guard mode == .auto else { return nil }
        return Outcome(
            id: "interaction", provider: provider, account: account, kind: outcome, details: details, times: nil)
    }
}

extension Fields {
    /// Reads a client's own `interaction` setting, which decides whether the client's sign-ins show a page.
    package mutating func clientInteraction() -> Interaction? {
        nullable("interaction", .object(Interaction.self), "Overrides the seed file's `interaction` for this client.")
    }
}

/// A request for a client secret (a JWT) that is signed on behalf of the client, with a private key from the seed.
package struct ClientSecretRequest: Sendable {
    /// The reason why no client secret is signed, in a sentence without a full stop.
    package struct Refusal: Error, CustomStringConvertible, Sendable {
        package let description: String

        package init(_ description: String) { self.description = description }
    }

    package let client: String
    /// The ID of the key that signs the client secret; `nil` for the first suitable key.
    package let keyID: String?
    /// The time from `now` after which the client secret expires. Zero or a negative time makes a secret that has
    /// expired.
    package let lifetime: TimeSpan
    package let now: Instant

    package init(client: String, keyID: String? = nil, lifetime: TimeSpan = .hours(1), now: Instant) {
        self.client = client
        self.keyID = keyID
        self.lifetime = lifetime
        self.now = now
    }
}
