import JOSE
import JSON
import Time

/// A checked and decoded seed, from which worlds begin.
package struct Seed: Sendable {
    package let format: SeedFormat
    /// The people who can sign in.
    package let people: SeededTable<Account>
    /// The providers' sections, in the format's order.
    package let sections: [any SeedSection]
    package let interaction: Interaction
    package let clock: Clock
    package let randomSeed: String?
    /// The day whose behaviour worlds play; `nil` if the seed doesn't say.
    package let asOf: Day?
    /// The day that worlds play whose seed doesn't say.
    package var daemonDay = Day.today
    package let outcomes: [Outcome]
    package let faults: [Fault]
    /// The faults as they are written, for the places of mistakes.
    package let writtenFaults: [LocatedJSON]
    package let writtenOutcomes: [LocatedJSON]
    /// The keys of the seed, by their PEM text.
    package let keys: [String: Key]
    /// Data that providers' own tools have exported, with which worlds begin, too.
    var exports: [any ExportedData] = []
    /// The files that were merged, with the files that they name.
    var sources: [SeedSource] = []

    package struct Clock: SchemaObject {
        package let set: Instant?
        package let freeze: Bool

        package init(_ fields: inout Fields) {
            set = fields.nullable("set", .timestamp, "The time at which the world begins.")
            freeze = fields("freeze", .boolean, default: false, "Whether time stands still until it is moved.")
        }
    }

    /// Decodes a seed. `json` has passed validation.
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

    /// The owners of all signing keys.
    package var keyOwners: [KeyOwner] { sections.flatMap { $0.keys.map(\.owner) } }

    /// Returns the rows of this type with which every world begins; `nil` when there are none.
    func rows<R: Row>(of type: R.Type) -> SeededTable<R>? { people as? SeededTable<R> }

    /// Returns the section of the provider with this name.
    package func section(named name: String) -> (any SeedSection)? { sections.first { type(of: $0).name == name } }

    /// Returns a provider's section.
    package subscript<Section: SeedSection>(type: Section.Type) -> Section {
        for section in sections where Swift.type(of: section) == type {
            if let section = section as? Section { return section }
        }
        // The format doesn't know the provider, so all members have their defaults.
        return Section(reading: [:])
    }
}
