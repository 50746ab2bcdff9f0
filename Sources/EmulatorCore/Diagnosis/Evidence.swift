import HTTPServer
import Recordings

/// The public source from which a behaviour of a provider is known. Answers carry it in the header
/// `Understudy-Evidence`.
package struct Evidence: Sendable, Equatable {
    package enum Kind: String, CaseIterable, Sendable {
        /// The provider's documentation says so.
        case documented
        /// A public issue, log or test quotes the real answer.
        case recorded
        /// A specification to which the provider keeps says so.
        case specified
        /// A public text describes the provider's behaviour without quoting a real answer.
        case reported
        /// Nothing public says; this behaviour was chosen.
        case chosen
    }

    package static let headerName = RecordedExchange.evidenceHeader

    package let kind: Kind
    /// The address of the source, or the reason for the choice.
    package let source: String
    /// The year, month or day of the source, such as `2024-05`; `nil` where it has none.
    package let date: String?

    package init(_ kind: Kind, _ source: String, on date: String? = nil) {
        self.kind = kind
        self.source = source
        self.date = date
    }

    package static func documented(_ page: String) -> Evidence { Evidence(.documented, page) }
    package static func recorded(_ page: String, on date: String? = nil) -> Evidence {
        Evidence(.recorded, page, on: date)
    }
    package static func specified(_ page: String) -> Evidence { Evidence(.specified, page) }
    package static func reported(_ page: String, on date: String? = nil) -> Evidence {
        Evidence(.reported, page, on: date)
    }
    package static func chosen(_ reason: String) -> Evidence { Evidence(.chosen, reason) }

    package static let ownPage = chosen("the page is our own: the provider's pages aren't copied")
    package static let ownPicture = chosen("the picture is our own: people's pictures aren't copied")

    /// The evidence in one line: `recorded 2024-05: https://github.com/…`.
    package var line: String { kind.rawValue + (date.map { " \($0)" } ?? "") + ": " + source }

    /// Reads a line that `line` has written; `nil` for any other text.
    package init?(line: String) {
        guard let colon = line.firstRange(of: ": ") else { return nil }
        let words = line[..<colon.lowerBound].split(separator: " ")
        guard let first = words.first, let kind = Kind(rawValue: String(first)) else { return nil }
        self.init(kind, String(line[colon.upperBound...]), on: words.dropFirst().first.map(String.init))
    }

    /// The header's value if no evidence is on record. A test fails on an answer with it.
    package static let none = "none"
}

extension Response {
    /// Returns the same response with its evidence; `nil` says that none is on record.
    package func known(by evidence: Evidence?) -> Response {
        var response = self
        response.headers.append((name: Evidence.headerName, value: evidence?.line ?? Evidence.none))
        return response
    }
}

/// The evidence for a provider's errors, claims, headers, limits and texts, as `Assets/evidence.tsv` has it.
///
/// The file has a line for each: what it is (`error`, `claim`, `header`, `limit` or `text`), its name, the text or value,
/// the kind of evidence, the date of the source, the source, and the day since which it is so.
package struct EvidenceTable: Sendable {
    package enum Subject: String, CaseIterable, Sendable {
        /// An endpoint: its method and path, and its hosts. The file has none: the endpoints themselves say it.
        case endpoint
        /// A refusal by its code or status, and its text.
        case error
        /// A claim of an ID token.
        case claim
        /// A header of an answer.
        case header
        /// A lifetime, a size or a count.
        case limit
        /// A behaviour that is none of the other kinds.
        case text
    }

    package struct Row: Sendable {
        package let subject: Subject
        package let name: String
        /// The error's text, in which `…` stands for any text; the value of a limit; the hosts of an endpoint.
        package let text: String
        package let evidence: Evidence
        /// The first day on which the provider behaves so; empty if it isn't known.
        package let since: String

        package init(_ endpoint: String, hosts: [String], _ evidence: Evidence) {
            subject = .endpoint
            (name, text, since) = (endpoint, hosts.joined(separator: ", "), "")
            self.evidence = evidence
        }

        fileprivate init?(_ columns: [String]) {
            guard columns.count >= 6, let subject = Subject(rawValue: columns[0]),
                let kind = Evidence.Kind(rawValue: columns[3]), !columns[5].isEmpty
            else { return nil }
            self.subject = subject
            (name, text) = (columns[1], columns[2])
            evidence = Evidence(kind, columns[5], on: columns[4].isEmpty ? nil : columns[4])
            since = columns.count > 6 ? columns[6] : ""
        }
    }

    package let rows: [Row]
    /// The places of errors in `rows`, by their names.
    private let errors: [String: [Int]]

    /// Reads a file; `other` has further rows.
    package init(_ text: StaticString, beside other: EvidenceTable? = nil) {
        rows = (other?.rows ?? []) + TextTable.rows(text).compactMap { Row($0) }
        errors = Dictionary(grouping: rows.indices.filter { [rows] in rows[$0].subject == .error }) { [rows] in
            rows[$0].name
        }
    }

    /// Returns the evidence for an error with this name and text; `nil` if the table has none.
    package func ofError(_ name: String, _ text: String? = nil) -> Evidence? {
        let text = text ?? ""
        return errors[name]?.first { EvidenceTable.matches(text, rows[$0].text) }.map { rows[$0].evidence }
    }

    /// Returns the names of what the table has of a kind.
    package func names(of subject: Subject) -> Set<String> {
        Set(rows.filter { $0.subject == subject }.map(\.name))
    }

    /// Returns whether a text is like a pattern, in which each `…` stands for any text.
    private static func matches(_ text: String, _ pattern: String) -> Bool {
        guard pattern.contains("…") else { return text == pattern }
        let parts = pattern.split(separator: "…", omittingEmptySubsequences: false)
        guard let first = parts.first, let last = parts.last, text.hasPrefix(first) else { return false }
        var rest = text.dropFirst(first.count)
        for part in parts.dropFirst().dropLast() {
            guard let found = rest.firstRange(of: part) else { return false }
            rest = rest[found.upperBound...]
        }
        return rest.hasSuffix(last)
    }
}
