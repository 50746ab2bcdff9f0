import Control
import EmulatorCore
import HTTPClient
import HTTPServer
import JSON
import Recordings

/// Repeats the requests of a recording at a server in this process, and compares the answers with the recorded ones.
///
/// Codes, tokens and cookies are others here. So each value that an answer has in place of a recorded one is sent in
/// its place from then on.
package struct Comparison {
    /// An entry of the recording, with what was found.
    package struct Finding: Sendable {
        package enum Outcome: Sendable, Equatable {
            case compared([Difference])
            /// The reason why the entry wasn't compared.
            case skipped(String)
        }

        /// The position in the recording, from 1.
        package let number: Int
        /// Method and address, without parameters.
        package let title: String
        package let outcome: Outcome

        package var isCompared: Bool { if case .compared = outcome { true } else { false } }

        package var differences: [Difference] { if case .compared(let found) = outcome { found } else { [] } }
    }

    /// The reason why requests to the app, and to other servers, aren't compared.
    package static let otherHost = "another host"

    private let server: RunningServer
    private let har: HARFile
    private let account: String?
    /// The values here, by those in the recording.
    private var values: [String: String] = [:]
    private var cookies: [String: [(name: String, value: String)]] = [:]
    /// The last authorization code that was given out here.
    private var code: String?

    /// The time in which an answer here must come.
    private static let seconds = 30
    /// The length of the shortest value that is replaced.
    private static let shortest = 4
    private static let dropped: Set<String> = [
        "host", "content-length", "connection", "cookie", "accept-encoding", "transfer-encoding", "if-none-match",
        "if-modified-since", "proxy-authorization", "origin", "content-type", "upgrade-insecure-requests",
    ]

    /// Repeats a recording. `account` is the person who signs in; the seed's first by default.
    ///
    /// - Throws: ``StartError`` when the server can't be started with the seeds.
    package static func run(
        _ har: HARFile, seeds: [SeedInput], asOf day: String?, account: String?
    ) throws -> [Finding] {
        var options = RunningServer.Options()
        // What was signed then is valid then, and the providers had that day's behaviour.
        let began = har.began.map { $0.text }
        options.asOf = day ?? began.map { String($0.prefix(10)) }
        let clock = began.map { [SeedInput.json(#"{"clock": {"set": "\#($0)"}}"#)] } ?? []
        let server = try RunningServer.start(seeds: seeds + clock, options: options)
        defer { server.stop() }
        var comparison = Comparison(server: server, har: har, account: account ?? server.firstAccount)
        return har.entries.indices.map { comparison.finding(at: $0) }
    }

    private init(server: RunningServer, har: HARFile, account: String?) {
        (self.server, self.har, self.account) = (server, har, account)
    }

    // MARK: - An entry

    private mutating func finding(at index: Int) -> Finding {
        let entry = har.entries[index]
        return Finding(
            number: index + 1, title: "\(entry.request.method) \(entry.host)\(entry.request.path)",
            outcome: outcome(of: entry, at: index))
    }

    private mutating func outcome(of entry: HARFile.Entry, at index: Int) -> Finding.Outcome {
        let request = entry.request
        guard server.plays(entry.host) else { return .skipped(Comparison.otherHost) }
        guard entry.isAnswered else { return .skipped("the answer wasn't recorded") }
        guard let endpoint = server.endpoint(request.method, entry.host, request.path) else {
            return .skipped("nothing is served here")
        }
        let ending = endpoint.authorizes ? ending(of: entry, from: index) : nil
        if endpoint.authorizes {
            guard let ending else { return .skipped("a page for a person, which looks otherwise here") }
            if let refusal = order(ending, at: endpoint.provider) { return .skipped(refusal) }
        }
        let answer: Response
        do throws(OutgoingRequest.Failure) { answer = try send(entry) } catch {
            return .skipped("no answer here: \(error.description)")
        }
        var comparison = AnswerComparison { [values] in values[$0] ?? $0 }
        if let ending {
            let own = Comparison.parameters(of: answer, to: request)
            learn(ending.fields, own)
            code = own["code"]?.string ?? code
            if own.isEmpty {
                comparison.compare(entry.response, answer)
            } else {
                comparison.compareParameters(ending.fields, own)
            }
        } else {
            learn(entry, answer)
            comparison.compare(entry.response, answer)
        }
        let masks = [entry.response, answer].map { Mask(Comparison.exchange(entry, $0)) }
        var found = comparison.differences.map { difference in
            Difference(kind: difference.kind, text: masks.reduce(difference.text) { $1.apply(to: $0) })
        }
        if !found.isEmpty, let reason = answer.header(Diagnosis.headerName) {
            found.append(Difference(kind: .error, text: "here because: \(masks.reduce(reason) { $1.apply(to: $0) })"))
        }
        return .compared(found)
    }

    // MARK: - Authorizations

    /// The end of a sign-in in the recording: the parameters with which the browser was sent back to the app.
    private struct Ending {
        let fields: JSONObject
    }

    /// Returns the end of an authorization: its own redirect or page, or that of a later request, after the person was
    /// asked.
    private func ending(of entry: HARFile.Entry, from index: Int) -> Ending? {
        let request = entry.request
        let asked = Comparison.fields(of: request)
        for later in har.entries[index...] {
            let fields = Comparison.parameters(of: later.response, to: later.request)
            if !fields.isEmpty, fields["state"] == asked["state"], Comparison.ends(fields) {
                return Ending(fields: fields)
            }
            // A form post to the app.
            let sent = Comparison.fields(of: later.request)
            if later.request.method == "POST", !server.plays(later.host), sent["state"] == asked["state"],
                Comparison.ends(sent)
            {
                return Ending(fields: sent)
            }
        }
        return entry.response.status >= 400 ? Ending(fields: JSONObject()) : nil
    }

    private static func ends(_ fields: JSONObject) -> Bool {
        ["code", "error", "id_token", "access_token"].contains { fields[$0] != nil }
    }

    /// Orders that the next authorization ends as in the recording. Returns the reason why it can't.
    private func order(_ ending: Ending, at provider: String?) -> String? {
        guard let provider, !ending.fields.isEmpty else { return nil }
        var outcome = JSONObject([("provider", .string(provider))])
        switch ending.fields["error"]?.string {
        case nil:
            outcome["outcome"] = "approve"
            outcome["account"] = account.map { .string($0) }
        case "access_denied"?, "user_cancelled_authorize"?: outcome["outcome"] = "cancel"
        default: return nil
        }
        let client = DaemonClient(url: server.url, token: nil)
        do throws(StartError) {
            try client.call("DELETE", "outcomes")
            try client.call("POST", "outcomes", body: JSONValue.object(outcome).serialized())
            return nil
        } catch { return error.description }
    }

    /// Returns the parameters that an answer sends to the app: in a redirect away from the provider, or in a form.
    private static func parameters(of response: Response, to request: Request) -> JSONObject {
        if let location = response.header("Location") {
            let fields = AnswerComparison.parameters(of: location)
            return ends(fields) ? fields : JSONObject()
        }
        let found = exchange(HARFile.Entry(host: "", request: request, response: response, isAnswered: true), response)
            .responseFindings.filter { $0.place == "response.body.\($0.name)" }
        guard response.header("Content-Type")?.mediaType == "text/html" else { return JSONObject() }
        let fields = JSONObject(found.map { ($0.name, .string($0.value)) })
        return ends(fields) ? fields : JSONObject()
    }

    private static func fields(of request: Request) -> JSONObject {
        JSONObject((request.queryForm.fields + request.bodyForm.fields).map { ($0.name, .string($0.value)) })
    }

    // MARK: - Values

    private static func exchange(_ entry: HARFile.Entry, _ response: Response) -> RecordedExchange {
        RecordedExchange(
            id: "", parent: nil, world: "", host: entry.host, path: entry.request.path, client: nil,
            request: entry.request, response: response, time: .first, began: 0, duration: 0, fault: nil)
    }

    /// Remembers which values stand here for those of the recording.
    private mutating func learn(_ entry: HARFile.Entry, _ answer: Response) {
        let own = Dictionary(
            Comparison.exchange(entry, answer).responseFindings.map { ($0.place, $0.value) },
            uniquingKeysWith: { first, _ in first })
        for finding in Comparison.exchange(entry, entry.response).responseFindings {
            if let value = own[finding.place] { learn(finding.value, value) }
        }
    }

    private mutating func learn(_ theirs: JSONObject, _ ours: JSONObject) {
        for (key, value) in theirs.members where !["error", "state", "scope", "iss"].contains(key) {
            if let value = value.string, let own = ours[key]?.string { learn(value, own) }
        }
    }

    private mutating func learn(_ theirs: String, _ ours: String) {
        guard theirs != ours, theirs.utf8.count >= Comparison.shortest else { return }
        values[theirs] = ours
    }

    // MARK: - Requests

    private mutating func send(_ entry: HARFile.Entry) throws(OutgoingRequest.Failure) -> Response {
        let request = entry.request
        let isRefused = entry.response.status >= 400
        let translation = Translation(values: values, code: isRefused ? nil : code)
        let path = request.path.split(separator: "/", omittingEmptySubsequences: false).map { part in
            let text = String(decoding: PercentCoding.decode(Array(part.utf8)[...]), as: UTF8.self)
            return values[text].map { PercentCoding.encode(Array($0.utf8)) } ?? String(part)
        }.joined(separator: "/")
        let query = request.query.map { "?\(translation.form(Form(parsing: $0), in: $0))" } ?? ""
        var headers = request.headers.filter { !Comparison.dropped.contains($0.name.lowercased()) }.map { header in
            let words = header.value.split(separator: " ", omittingEmptySubsequences: false)
            return (name: header.name, value: words.map { values[String($0)] ?? String($0) }.joined(separator: " "))
        }
        if let jar = cookies[entry.host] {
            headers.append((name: "Cookie", value: jar.map { "\($0.name)=\($0.value)" }.joined(separator: "; ")))
        }
        let answer = try OutgoingRequest.send(
            request.method, to: server.url + path + query, host: entry.host,
            contentType: request.header("Content-Type"), headers: headers, body: translation.body(of: request),
            seconds: Comparison.seconds, limit: 64 << 20)
        for header in answer.headers where header.name.lowercased() == "set-cookie" {
            keep(header.value, of: entry.host)
        }
        return Response(status: answer.status, headers: answer.headers, body: answer.body)
    }

    private mutating func keep(_ cookie: String, of host: String) {
        let pair = cookie.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard pair.count == 2 else { return }
        let name = String(pair[0])
        cookies[host] = (cookies[host] ?? []).filter { $0.name != name } + [(name: name, value: String(pair[1]))]
    }
}

/// The translation of a recorded request's body and query.
private struct Translation {
    let values: [String: String]
    /// The code that is sent in place of one that the recording doesn't show being given out.
    let code: String?

    /// Returns the encoded form, unchanged if nothing in it is translated.
    func form(_ form: Form, in text: String) -> String {
        let fields = form.fields.map { Form.Field(name: $0.name, value: value($0.value, of: $0.name)) }
        let isSame = zip(fields, form.fields).allSatisfy { $0.value == $1.value }
        return isSame ? text : Form(fields: fields).encoded
    }

    func body(of request: Request) -> [UInt8] {
        if request.contentType == "application/x-www-form-urlencoded" {
            let text = String(decoding: request.body, as: UTF8.self)
            return Array(form(Form(parsing: request.body), in: text).utf8)
        }
        guard request.body.holdsJSON, let json = try? JSONValue(parsing: request.body, limits: .answer) else {
            return request.body
        }
        return self.json(json, of: "").serialized()
    }

    private func json(_ value: JSONValue, of name: String) -> JSONValue {
        switch value {
        case .string(let text): .string(self.value(text, of: name))
        case .array(let items): .array(items.map { json($0, of: name) })
        case .object(let object): .object(JSONObject(object.members.map { ($0.key, json($0.value, of: $0.key)) }))
        default: value
        }
    }

    private func value(_ text: String, of name: String) -> String {
        if let value = values[text] { return value }
        // Firebase's postBody is a form within JSON.
        if name == "postBody" { return form(Form(parsing: text), in: text) }
        return name == "code" ? code ?? text : text
    }
}
