import EmulatorCore
import JSON
import Time
import Worlds

/// A report of the requests in the recordings of all test worlds, for people who examine a test run afterwards.
package struct RunReport {
    private let documents: [ExchangeDocument]
    private let version: String
    /// The requests that were refused. They are kept even after their test world has been removed.
    private var refused: [ExchangeDocument] { documents.filter { $0.known.exchange.diagnosis != nil } }

    /// Reads the recordings of all test worlds. That takes time, so don't call it on a server's worker thread.
    package init(_ worlds: WorldRegistry, masksSecrets: Bool, version: String) {
        do throws(StoreFailure) { try worlds.budget.recordings.refreshAll() } catch {
            worlds.budget.notices.warnOncePerMinute(
                .stores, "the report lacks the requests that other daemons recorded: \(error.diagnosis.line)")
        }
        documents = RecordingAccount(worlds).exchanges.map { ExchangeDocument($0, masksSecrets: masksSecrets) }
        self.version = version
    }

    /// Returns a line for each of the last `count` refused requests, the oldest first: the method, the address and the
    /// reason, such as `POST appleid.apple.com/auth/token: …`.
    package func lastRefusals(_ count: Int) -> [String] {
        refused.suffix(count).map { "\($0.name): \($0.diagnosis ?? "")" }
    }

    /// The requests of all test worlds as a HAR file, in which each world is a page.
    package var archive: JSONValue {
        ExchangeDocument.har(documents, version: version, goesOnAfter: nil, worlds: true)
    }

    /// Lines about a rehearsal, in which the daemon surprises the client by unusual but legal responses. They tell the
    /// number of surprises, and at most 20 of the losses: requests that were refused right after a surprise in the same
    /// sign-in, and surprises after which nothing followed.
    package var rehearsal: [String] {
        let surprised = documents.filter(\.isSurprise)
        guard !surprised.isEmpty else {
            return ["the rehearsal (--rehearse) varied none of \(documents.count) responses"]
        }
        // The last request of each sign-in. Later ones of the same sign-in take its place.
        var last: [String: ExchangeDocument] = [:]
        var losses: [String] = []
        for document in documents where document.known.exchange.parent == nil && document.known.client != nil {
            let flow = "\(document.known.exchange.world) \(document.known.flow)"
            if let before = last[flow], before.isSurprise, !document.isSurprise, let reason = document.diagnosis {
                losses.append("\(before.surprise), and then \(document.known.exchange.id) was refused: \(reason)")
            }
            last[flow] = document
        }
        let ends = Set(last.values.map { "\($0.known.exchange.world) \($0.known.exchange.id)" })
        for document in surprised
        where ends.contains("\(document.known.exchange.world) \(document.known.exchange.id)") {
            losses.append("nothing followed \(document.surprise)")
        }
        // A request that names no client, such as one for keys, is in no sign-in. If it got 503, it should come again.
        var later: Set<String> = []
        let latest = documents.reversed().filter { later.insert("\($0.known.exchange.world) \($0.name)").inserted }
        for document in latest.reversed()
        where document.isSurprise && document.known.client == nil && document.known.exchange.response.status == 503 {
            losses.append("nothing followed \(document.surprise)")
        }
        var lines = ["the rehearsal (--rehearse) varied \(surprised.count) of \(documents.count) responses"]
        lines += losses.suffix(RunReport.shownLosses)
        if losses.count > RunReport.shownLosses {
            lines.append("\(losses.count - RunReport.shownLosses) more like these")
        }
        return lines
    }

    private static let shownLosses = 20

    /// Returns an XML report in JUnit's format: a suite for each test world in which requests were refused, with a
    /// failure for each refused request. Without refusals, the report has one passed test, since programs take a report
    /// without tests for a broken run. `seconds` is the run's length.
    package func junit(host: String, began: Instant, seconds: Double) -> String {
        var names: [String] = []
        var worlds: [String: [ExchangeDocument]] = [:]
        for document in refused {
            let world = document.known.exchange.world
            if worlds[world] == nil { names.append(world) }
            worlds[world, default: []].append(document)
        }
        let about = (host: host, began: began, seconds: seconds)
        var suites = names.map { name -> XML in
            let cases = worlds[name] ?? []
            return RunReport.suite(
                "understudy.\(name)", cases.map { RunReport.testCase($0) }, failures: cases.count, about)
        }
        if suites.isEmpty {
            let passed = XML(
                "testcase", [("name", "no request was refused"), ("classname", "understudy"), ("time", "0.000")])
            suites = [RunReport.suite("understudy", [passed], failures: 0, about)]
        }
        let root = XML(
            "testsuites",
            [
                ("name", "understudy"), ("tests", "\(max(1, refused.count))"), ("failures", "\(refused.count)"),
                ("errors", "0"), ("time", RunReport.text(seconds)),
            ], .elements(suites))
        return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\(root.text)"
    }

    /// Returns a test suite in JUnit's XML, with the attributes that common readers of such reports demand. The
    /// timestamp is in UTC, because the schema of these reports allows no time zone.
    /// <https://github.com/junit-team/junit-framework/blob/main/platform-tests/src/test/resources/jenkins-junit.xsd>
    private static func suite(
        _ name: String, _ cases: [XML], failures: Int, _ about: (host: String, began: Instant, seconds: Double)
    ) -> XML {
        XML(
            "testsuite",
            [
                ("name", name), ("tests", "\(cases.count)"), ("failures", "\(failures)"), ("errors", "0"),
                ("skipped", "0"), ("timestamp", String(about.began.text.dropLast())), ("hostname", about.host),
                ("time", text(about.seconds)),
            ], .elements(cases))
    }

    private static func testCase(_ document: ExchangeDocument) -> XML {
        let (exchange, diagnosis) = (document.known.exchange, document.diagnosis ?? "")
        let lines = [
            "\(exchange.id) \(document.name)", "answered \(exchange.response.status)", diagnosis,
            exchange.fault.map { "by an \(document.shown($0))" }, document.known.client.map { "client: \($0)" },
            "world: \(exchange.world)", "at \(Instant.text(microseconds: exchange.began))",
        ]
        let failure = XML(
            "failure", [("message", diagnosis), ("type", "\(exchange.response.status)")],
            .text(lines.compactMap { $0 }.joined(separator: "\n")))
        return XML(
            "testcase",
            [
                ("name", "\(exchange.id) \(document.name)"), ("classname", exchange.host ?? "understudy"),
                ("time", text(Double(exchange.duration) / 1_000_000)),
            ], .elements([failure]))
    }

    private static func text(_ seconds: Double) -> String {
        let milliseconds = Int64(min(max(0, seconds * 1000), 1e15))
        return "\(milliseconds / 1000).\(String(1000 + milliseconds % 1000).dropFirst())"
    }
}

extension ExchangeDocument {
    /// Whether the daemon made this response unusual but legal, to test that the client accepts it. A scenario that
    /// requests such responses is a rehearsal.
    fileprivate var isSurprise: Bool { known.exchange.fault.map(Fault.isRehearsed) ?? false }

    /// A line about a response that a rehearsal changed: the request, its client, and the fault that changed the
    /// response.
    fileprivate var surprise: String {
        let client = known.client.map { " of \(Diagnosis.quote($0))" } ?? ""
        return
            "\(known.exchange.id) \(name)\(client): \(BoundedText.shortened(shown(known.exchange.fault ?? ""), to: 300))"
    }
}

/// An element of an XML document: <https://www.w3.org/TR/xml/>.
struct XML {
    enum Content {
        case elements([XML])
        case text(String)
    }

    private let name: String
    private let attributes: [(name: String, value: String)]
    private let content: Content

    init(_ name: String, _ attributes: [(String, String)], _ content: Content = .elements([])) {
        self.name = name
        self.attributes = attributes.map { (name: $0.0, value: $0.1) }
        self.content = content
    }

    /// The XML as text, indented, with one element a line.
    var text: String {
        var text = ""
        write(to: &text, indent: "")
        return text
    }

    private func write(to text: inout String, indent: String) {
        text += "\(indent)<\(name)"
        for attribute in attributes {
            text += " \(attribute.name)=\"\(XML.escaped(attribute.value, inAttribute: true))\""
        }
        switch content {
        case .elements(let elements) where elements.isEmpty: text += "/>\n"
        case .elements(let elements):
            text += ">\n"
            for element in elements { element.write(to: &text, indent: indent + "  ") }
            text += "\(indent)</\(name)>\n"
        case .text(let content): text += ">\(XML.escaped(content, inAttribute: false))</\(name)>\n"
        }
    }

    /// Escapes a text for XML. XML 1.0 can't contain most control characters, not even as references, so they become
    /// texts such as `\\u{1b}`.
    private static func escaped(_ text: String, inAttribute: Bool) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            // Parsers replace line breaks in attributes by spaces, and drop a carriage return.
            case "\r": escaped += "&#13;"
            case "\n" where inAttribute: escaped += "&#10;"
            case "\t" where inAttribute: escaped += "&#9;"
            case "\n", "\t": escaped.unicodeScalars.append(scalar)
            case "\u{20}"..."\u{D7FF}", "\u{E000}"..."\u{FFFD}", "\u{10000}"...: escaped.unicodeScalars.append(scalar)
            default: escaped += "\\u{\(String(scalar.value, radix: 16))}"
            }
        }
        return escaped
    }
}
