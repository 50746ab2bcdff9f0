import JSON
import Time

/// The date of the providers' behaviour that a test world imitates, such as `2026-04-01`. The date is independent of
/// the test world's clock.
package struct Day: Comparable, Hashable, Sendable, CustomStringConvertible {
    /// The latest date for which this version knows the providers' behaviour. Test worlds imitate the behaviour of this
    /// date by default.
    package static let today = Day(unchecked: "2026-11-28")
    /// A date after all changes that providers have announced.
    package static let next = Day(unchecked: "9999-12-31")
    package static let word = "next"

    /// The date as text, such as `2026-04-01`. The alphabetical order of such texts is the order of the dates.
    private let text: String

    private init(unchecked text: String) { self.text = text }

    /// Reads a date such as `2026-04-01`, or the word `next`, which stands for all announced changes of providers.
    /// Returns `nil` for a date that doesn't exist.
    package init?(_ text: String) {
        if text == Day.word {
            self = .next
            return
        }
        guard text.utf8.count == 10, Instant("\(text)T00:00:00Z") != nil else { return nil }
        self.init(unchecked: text)
    }

    package var description: String { self == .next ? Day.word : text }

    package static func < (left: Day, right: Day) -> Bool { left.text < right.text }
}

/// A behaviour of a provider that began or ended on a known date. It is declared beside the code for the behaviour.
/// This code asks ``Seed/plays(_:)`` whether the behaviour is in force.
package struct Change: Sendable {
    /// A period in which a provider's behaviour is in force. It includes the day `from`, but not the day `until`.
    package struct Period: Sendable {
        package let from: Day?
        package let until: Day?

        package func contains(_ day: Day) -> Bool { from.map { $0 <= day } ?? true && until.map { day < $0 } ?? true }
    }

    package let name: String
    package let periods: [Period]
    /// A sentence that describes the provider's behaviour and is true while the behaviour is in force.
    package let summary: String
    /// The address of the page or report that tells when the provider's behaviour changed.
    package let evidence: String
    /// The reason why the dates of the provider's change are uncertain; `nil` if they are published.
    package let caveat: String?

    /// Declares a behaviour that a provider has only in certain periods.
    ///
    /// - Parameter periods: The first day of each period, and the day after its last day. The period `("2026-04-09",
    ///   "2026-04-11")` has two days. With `nil` in place of a day, the period has no beginning or no end.
    package init(
        _ name: String, _ periods: (from: String?, until: String?)..., summary: String, caveat: String? = nil,
        evidence: String
    ) {
        self.name = name
        self.periods = periods.map { Period(from: $0.from.flatMap { Day($0) }, until: $0.until.flatMap { Day($0) }) }
        self.summary = summary
        self.caveat = caveat
        self.evidence = evidence
    }

    package func isInForce(on day: Day) -> Bool { periods.contains { $0.contains(day) } }

    /// Returns the dates after `start`, up to and including `end`, on which this behaviour of a provider begins or
    /// ends.
    package func steps(after start: Day, upTo end: Day) -> [(day: Day, begins: Bool)] {
        periods.flatMap { period in
            [period.from.map { (day: $0, begins: true) }, period.until.map { (day: $0, begins: false) }].compactMap {
                $0
            }
        }.filter { start < $0.day && $0.day <= end }.sorted { $0.day < $1.day }
    }
}

extension Seed {
    /// The date of the providers' behaviour that a test world with this seed imitates. The date comes from the seed or,
    /// if the seed names none, from the daemon's settings. By default, it is the latest date that this version knows.
    package var day: Day { asOf ?? daemonDay }

    /// Returns whether `change`, a change in a provider's behaviour, is in force in test worlds with this seed.
    package func plays(_ change: Change) -> Bool { change.isInForce(on: day) }
}

extension TextRule {
    package static let day = TextRule(
        about: "a day such as \"2026-04-01\", or \"next\" for announced changes",
        pattern: "^([0-9]{4}-[0-9]{2}-[0-9]{2}|next)$"
    ) { Day($0) != nil }
}
