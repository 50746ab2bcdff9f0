import JOSE
import JSON
import Time

/// A seed, checked and read: what a world begins as.
package struct Seed: Sendable {
    package let format: SeedFormat
    /// The people who can sign in.
    package let people: SeededTable<Account>
    /// The providers' sections, in the format's order.
    package let sections: [any SeedSection]
    package let interaction: Interaction
    package let clock: Clock
    package let randomSeed: String?
    package let outcomes: [Outcome]
    package let faults: [Fault]
    /// The faults as they are written, to say where one doesn't fit.
    package let writtenFaults: [LocatedJSON]
    package let writtenOutcomes: [LocatedJSON]
    /// The keys in it, by their PEM text.
    package let keys: [String: Key]
    /// What providers' own tools have exported, with which they begin, too.
    var exports: [any ExportedData] = []
    /// The files from which it was put together, with the files that they name.
    var sources: [SeedSource] = []

    package struct Clock: SchemaObject {
        package let set: Instant?
        package let freeze: Bool

        package init(_ fields: inout Fields) {
            set = fields.nullable("set", .timestamp, "The time at which the world begins.")
            freeze = fields("freeze", .boolean, default: false, "Whether time stands still until it is moved.")
        }
    }

    /// `json` has passed validation.
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
        outcomes = contents.outcomes
        faults = contents.faults
    }

    /// Everybody who signs something.
    package var keyOwners: [KeyOwner] { sections.flatMap { $0.keys.map(\.owner) } }

    /// The rows of this type that every world begins with; `nil` when it begins with none.
    func rows<R: Row>(of type: R.Type) -> SeededTable<R>? { people as? SeededTable<R> }

    /// The section of a provider that is known by name only.
    package func section(named name: String) -> (any SeedSection)? { sections.first { type(of: $0).name == name } }

    /// A provider's section.
    package subscript<Section: SeedSection>(type: Section.Type) -> Section {
        for section in sections where Swift.type(of: section) == type {
            if let section = section as? Section { return section }
        }
        // The format doesn't know the provider: all is as by default.
        return Section(reading: [:])
    }
}
