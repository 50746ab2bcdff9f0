import HTTPServer
import Recordings

/// The public source from which a behaviour of the real provider is known or, without a source, the reason for choosing
/// the behaviour. Responses name it in the header `Understudy-Evidence`.
package struct Evidence: Sendable, Equatable {
    package enum Kind: String, CaseIterable, Sendable {
        /// A provider's behaviour is known from the provider's own documentation.
        case documented
        /// A provider's behaviour is known from a public issue, log or test that quotes the provider's real response.
        case recorded
        /// A provider's behaviour is known from a specification, such as an RFC, to which the provider conforms.
        case specified
        /// A provider's behaviour is known from a public text that describes it without quoting a real response.
        case reported
        /// A provider's behaviour is known from no public source, so the authors of this program have chosen a
        /// behaviour.
        case chosen
    }

    package static let headerName = RecordedExchange.evidenceHeader

    package let kind: Kind
    /// The URL of the public source for a provider's behaviour or, without a source, the reason for choosing the
    /// behaviour.
    package let source: String
    /// The year, month or day of the public source for a provider's behaviour, such as `2024-05`; `nil` for a source
    /// without a date.
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

    package static let ownPage = chosen("the page is Understudy's own: the provider's pages aren't copied")
    static let unserved = chosen("Understudy doesn't emulate this request, and no public source has its answer")
    static let preflight = specified("https://fetch.spec.whatwg.org/#http-cors-protocol")
    package static let ownPicture = chosen("the picture is Understudy's own: real users' pictures aren't copied")

    /// The value of the header `Understudy-Evidence`, such as `recorded 2024-05: https://github.com/…`.
    package var line: String { kind.rawValue + (date.map { " \($0)" } ?? "") + ": " + source }

    /// Reads the value of a header `Understudy-Evidence`; `nil` if the text hasn't the form of such a value.
    package init?(line: String) {
        guard let colon = line.firstRange(of: ": ") else { return nil }
        let words = line[..<colon.lowerBound].split(separator: " ")
        guard let first = words.first, let kind = Kind(rawValue: String(first)) else { return nil }
        self.init(kind, String(line[colon.upperBound...]), on: words.dropFirst().first.map(String.init))
    }

    /// The value of the header `Understudy-Evidence` if no source for a response is on record. This project's tests
    /// fail on a response with this value.
    package static let none = "none"
}

extension Response {
    /// Returns a copy of the response with `evidence` in the header `Understudy-Evidence`. If `evidence` is `nil`, the
    /// header says that no source is on record.
    package func known(by evidence: Evidence?) -> Response {
        var response = self
        response.headers.append((name: Evidence.headerName, value: evidence?.line ?? Evidence.none))
        return response
    }
}

/// The public sources for a provider's errors, claims, headers, limits and texts, read from the file
/// `Assets/evidence.tsv`.
///
/// A line of the file has seven columns: the kind of thing (`error`, `claim`, `header`, `limit` or `text`), its name,
/// its text or value, the kind of evidence, the date of the source, the source, and the first day on which the provider
/// behaves so.
package struct EvidenceTable: Sendable {
    package enum Subject: String, CaseIterable, Sendable {
        /// An endpoint of a provider, with its method, path and hosts. The sources for endpoints stand in the
        /// declarations of the endpoints in Swift, not in the file `evidence.tsv`.
        case endpoint
        /// An error of a provider, with its code or HTTP status and its text.
        case error
        case claim
        case header
        /// A limit of a provider, such as a token's lifetime, a size or a count.
        case limit
        /// Any other behaviour of a provider, which isn't about an endpoint, error, claim, header or limit.
        case text
    }

    package struct Row: Sendable {
        package let subject: Subject
        package let name: String
        /// The text of an error, the value of a limit, or the hosts of an endpoint. In the text of an error, `…` stands
        /// for any characters.
        package let text: String
        package let evidence: Evidence
        /// The first day on which the real provider behaved as this row of the table says; empty if the day isn't
        /// known.
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
    /// For each error's name, the indices in `rows` of the rows about that error.
    private let errors: [String: [Int]]

    /// Reads the table of public sources for a provider's behaviour from `text`, the content of a file `evidence.tsv`.
    /// The new table consists of the rows of the table `other` and the rows in `text`.
    package init(_ text: StaticString, beside other: EvidenceTable? = nil) {
        rows = (other?.rows ?? []) + TextTable.rows(text).compactMap { Row($0) }
        errors = Dictionary(grouping: rows.indices.filter { [rows] in rows[$0].subject == .error }) { [rows] in
            rows[$0].name
        }
    }

    /// Returns the public source for a provider's error with this name and text or, without a source, the reason why
    /// this error was chosen. Returns `nil` if the file `evidence.tsv` doesn't list the error.
    package func ofError(_ name: String, _ text: String? = nil) -> Evidence? {
        let text = text ?? ""
        return errors[name]?.first { EvidenceTable.matches(text, rows[$0].text) }.map { rows[$0].evidence }
    }

    /// Returns the names of all things of one kind, such as all claims, that this table of a provider's behaviour and
    /// its public sources lists.
    package func names(of subject: Subject) -> Set<String> {
        Set(rows.filter { $0.subject == subject }.map(\.name))
    }

    /// Returns whether a text matches a pattern, in which each `…` stands for any characters.
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
