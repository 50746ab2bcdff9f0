import JSON
import Time

/// A day whose behaviour a world can play, such as `2026-04-01`. It doesn't depend on the world's clock.
package struct Day: Comparable, Hashable, Sendable, CustomStringConvertible {
    /// The last day whose behaviour this version knows, and the one that a world plays by default.
    package static let today = Day(unchecked: "2026-11-26")
    /// The day after everything that providers have announced.
    package static let next = Day(unchecked: "9999-12-31")
    package static let word = "next"

    /// A day as `2026-04-01`: such texts are in the order of the days.
    private let text: String

    private init(unchecked text: String) { self.text = text }

    /// Reads a day such as `2026-04-01`, or the word `next`. Returns `nil` for a day that doesn't exist.
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

/// A behaviour of a provider that began or ended on a known day. The provider declares it beside the behaviour, and
/// asks ``Seed/plays(_:)`` whether it is in force.
package struct Change: Sendable {
    /// The days on which the behaviour was or is in force: from the first on, and until the day before the last.
    package struct Period: Sendable {
        package let from: Day?
        package let until: Day?

        package func contains(_ day: Day) -> Bool { from.map { $0 <= day } ?? true && until.map { day < $0 } ?? true }
    }

    package let name: String
    package let periods: [Period]
    /// The behaviour, in a sentence that is true while it is in force.
    package let summary: String
    /// The page or report from which the days are known.
    package let evidence: String
    /// What is uncertain about the days; `nil` if they are published.
    package let caveat: String?

    /// - Parameter periods: Days such as `("2026-04-09", "2026-04-11")`; `nil` has no bound.
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

    /// Returns the days after `start`, up to and including `end`, on which the behaviour begins or ends.
    package func steps(after start: Day, upTo end: Day) -> [(day: Day, begins: Bool)] {
        periods.flatMap { period in
            [period.from.map { (day: $0, begins: true) }, period.until.map { (day: $0, begins: false) }].compactMap {
                $0
            }
        }.filter { start < $0.day && $0.day <= end }.sorted { $0.day < $1.day }
    }
}

extension Seed {
    /// The day whose behaviour the world plays: the seed's, else the daemon's, else today's.
    package var day: Day { asOf ?? daemonDay }

    /// Returns whether a behaviour is in force on the day that the world plays.
    package func plays(_ change: Change) -> Bool { change.isInForce(on: day) }
}

extension TextRule {
    package static let day = TextRule(
        about: "a day such as \"2026-04-01\", or \"next\" for what is announced",
        pattern: "^([0-9]{4}-[0-9]{2}-[0-9]{2}|next)$"
    ) { Day($0) != nil }
}
