import Control
import EmulatorCore
import HTTPClient
import HTTPServer
import JOSE
import JSON
import Recordings

/// Sends the requests from a recording of a real provider's traffic to a server in this process, and compares the
/// server's answers with the recorded ones.
///
/// This server's codes, tokens and cookies aren't those of the recording. Later requests are sent with this server's
/// values in place of the recorded values.
package struct Comparison {
    /// A recorded request, and the result of comparing its recorded answer with this server's answer.
    package struct Finding: Sendable {
        package enum Outcome: Sendable, Equatable {
            case compared([Difference])
            /// The reason why the recorded request wasn't repeated and compared.
            case skipped(String)
        }

        /// The position of the request in the recording. The first request has 1.
        package let number: Int
        /// The method and the address of the recorded request, without parameters.
        package let title: String
        package let outcome: Outcome

        package var isCompared: Bool { if case .compared = outcome { true } else { false } }

        package var differences: [Difference] { if case .compared(let found) = outcome { found } else { [] } }
    }

    /// The reason given for skipping a recorded request that didn't go to a provider, but to the app or another server.
    package static let otherHost = "another host"

    private let server: RunningServer
    private let har: HARFile
    private let account: String?
    /// For each recorded value, the value that this server has issued in its place.
    private var values: [String: String] = [:]
    private var cookies: [String: [(name: String, value: String)]] = [:]
    /// The values, such as codes and tokens, in providers' recorded answers to the requests that have been processed so
    /// far.
    private var issued: Set<String> = []
    /// For each recorded request: the results of sign-ins, such as a code or an error, that the request or its answer
    /// brings to the app.
    private let endings: [[Ending]]

    /// The time, in seconds, that this server has to answer each request that is repeated from the recording.
    private static let seconds = 30
    /// Recorded codes, tokens and IDs with fewer bytes than this are repeated unchanged. Longer ones are replaced by
    /// those that this server has issued.
    private static let shortest = 4
    private static let dropped: Set<String> = [
        "host", "content-length", "connection", "cookie", "accept-encoding", "transfer-encoding", "if-none-match",
        "if-modified-since", "proxy-authorization", "origin", "content-type", "upgrade-insecure-requests", "expect",
        "te", "trailer", "upgrade", "keep-alive", "proxy-connection",
    ]

    /// Repeats the requests of a recording at a new server, and returns the differences. `account` is the user who
    /// signs in; `nil` means the first user in the seed.
    ///
    /// - Throws: ``StartError`` if the server can't be started with the seeds, or if the seeds have no such account.
    package static func run(
        _ har: HARFile, seeds: [SeedInput], asOf day: String?, account: String?
    ) throws -> [Finding] {
        var options = RunningServer.Options()
        // The clock is set to the time of the recording, at which its tokens were valid, and the providers behave as on
        // that day.
        let began = har.began.map { $0.text }
        options.asOf = day ?? began.map { String($0.prefix(10)) }
        let clock = began.map { [SeedInput.json(#"{"clock": {"set": "\#($0)"}}"#)] } ?? []
        let server = try RunningServer.start(seeds: seeds + clock, options: options)
        defer { server.stop() }
        let people = server.accounts
        if let account, !people.contains(account) {
            throw StartError(
                description: "--account: no account \(Diagnosis.quote(account)) is seeded"
                    + Spelling.hint(account, among: people)
                    + (Diagnosis.alternatives(Array(people.prefix(10))).map { "; expected \($0)" } ?? ""))
        }
        var comparison = Comparison(server: server, har: har, account: account ?? people.first)
        return har.entries.indices.map { comparison.finding(at: $0) }
    }

    private init(server: RunningServer, har: HARFile, account: String?) {
        (self.server, self.har, self.account) = (server, har, account)
        endings = har.entries.map { entry in
            // The app gets the parameters in a redirect, or in a form that the browser posts.
            let sent = Comparison.fields(of: entry.request)
            let isPosted = entry.request.method == "POST" && !server.plays(entry.host) && Comparison.ends(sent)
            return [Ending(of: entry.response, to: entry.request)].compactMap { $0 }
                + (isPosted ? [Ending(fields: sent, destination: "https://\(entry.host)\(entry.request.path)")] : [])
        }
    }

    // MARK: - An entry

    private mutating func finding(at index: Int) -> Finding {
        let entry = har.entries[index]
        let outcome = outcome(of: entry, at: index)
        if outcome != .skipped(Comparison.otherHost) {
            issued.formUnion(Comparison.exchange(entry, entry.response).responseFindings.map(\.value))
        }
        return Finding(
            number: index + 1, title: "\(entry.request.method) \(entry.host)\(entry.request.path)", outcome: outcome)
    }

    private mutating func outcome(of entry: HARFile.Entry, at index: Int) -> Finding.Outcome {
        let request = entry.request
        guard server.plays(entry.host) else { return .skipped(Comparison.otherHost) }
        guard entry.isAnswered else { return .skipped("the answer wasn't recorded") }
        guard let endpoint = server.endpoint(request.method, entry.host, request.path) else {
            return .skipped("Understudy doesn't serve this endpoint")
        }
        let ending = endpoint.authorizes ? ending(of: entry, from: index) : nil
        if endpoint.authorizes {
            guard let ending else {
                return .skipped("the response is a page for the user: Understudy's pages differ from the provider's")
            }
            if let refusal = order(ending, at: endpoint.provider) { return .skipped(refusal) }
        } else if let reason = missingCredential(of: entry) {
            return .skipped(reason)
        }
        let answer: Response
        do throws(OutgoingRequest.Failure) { answer = try send(entry) } catch {
            return .skipped("Understudy sent no response: \(error.description)")
        }
        var comparison = AnswerComparison(host: entry.host) { [values] in values[$0] ?? $0 }
        if let ending, !ending.fields.isEmpty, let own = Ending(of: answer, to: request) {
            learn(ending.fields, own.fields)
            if let destination = ending.destination, let own = own.destination {
                comparison.compareDestinations(destination, own)
            }
            comparison.compareParameters(ending.fields, own.fields)
        } else {
            learn(entry, answer)
            comparison.compare(entry.response, answer)
            // Here, the answer is a page for a person, too, but nobody is asked.
            if let ending, comparison.differences.isEmpty {
                comparison.compareParameters(ending.fields, JSONObject())
            }
        }
        let masks = [entry.response, answer].map { Mask(Comparison.exchange(entry, $0)) }
        var found = comparison.differences.map { difference in
            Difference(kind: difference.kind, text: masks.reduce(difference.text) { $1.apply(to: $0) })
        }
        if !found.isEmpty, let reason = answer.header(Diagnosis.headerName) {
            found.append(
                Difference(kind: .error, text: "Understudy's reason: \(masks.reduce(reason) { $1.apply(to: $0) })"))
        }
        return .compared(found)
    }

    // MARK: - Authorizations

    /// The end of a recorded sign-in: the parameters with which the browser is sent back to the app, and the app's
    /// address.
    private struct Ending {
        let fields: JSONObject
        /// The address of the app to which the browser is sent; `nil` if the answer has no address, for example if the
        /// answer is a page that posts a message to another window.
        let destination: String?

        init(fields: JSONObject, destination: String?) { (self.fields, self.destination) = (fields, destination) }

        /// Reads the end of a sign-in from an answer that gives the app a code, a token or an error: a redirect, or a
        /// page with a form or with a message to another window. Returns `nil` for other answers.
        init?(of response: Response, to request: Request) {
            if let location = response.header("Location") {
                (fields, destination) = (AnswerComparison.parameters(of: location), location)
            } else {
                guard response.header("Content-Type")?.mediaType == "text/html" else { return nil }
                let entry = HARFile.Entry(host: "", request: request, response: response, isAnswered: true)
                let found = Comparison.exchange(entry, response).responseFindings
                    .filter { $0.place == "response.body.\($0.name)" }
                fields = JSONObject(found.map { ($0.name, .string($0.value)) })
                let page = String(decoding: response.body, as: UTF8.self)
                destination = page.firstRange(of: " action=\"").map { action in
                    page[action.upperBound...].prefix { $0 != "\"" }.split(
                        separator: "&amp;", omittingEmptySubsequences: false
                    ).joined(separator: "&")
                }
            }
            guard Comparison.ends(fields) else { return nil }
        }
    }

    /// Returns the result of the sign-in that a recorded request began. Without a recorded result, returns an empty
    /// result if the request was answered with an error status, and `nil` otherwise.
    private func ending(of entry: HARFile.Entry, from index: Int) -> Ending? {
        let state = Comparison.fields(of: entry.request)["state"]
        for ending in endings[index...].joined() where ending.fields["state"] == state { return ending }
        return entry.response.status >= 400 ? Ending(fields: JSONObject(), destination: nil) : nil
    }

    private static func ends(_ fields: JSONObject) -> Bool {
        ["code", "error", "id_token", "access_token"].contains { fields[$0] != nil }
    }

    /// If the recorded sign-in was approved or cancelled, arranges in advance that this server's next sign-in ends in
    /// the same way. Returns an error message if this fails, or else `nil`.
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

    private static func fields(of request: Request) -> JSONObject {
        JSONObject((request.queryForm.fields + request.bodyForm.fields).map { ($0.name, .string($0.value)) })
    }

    // MARK: - Values

    private static func exchange(_ entry: HARFile.Entry, _ response: Response) -> RecordedExchange {
        RecordedExchange(
            id: "", parent: nil, world: "", host: entry.host, path: entry.request.path, client: nil,
            request: entry.request, response: response, time: .first, began: 0, duration: 0, fault: nil)
    }

    /// The names of values, other than secrets and IDs, that differ in every sign-in.
    private static let momentary: Set<String> = ["sub", "login", "email", "user_code", "request_uri", "session_state"]
    /// The names of the fields and headers in which a request has a code or token that a provider has issued.
    private static let credentials: Set<String> = [
        "code", "access_token", "refresh_token", "device_code", "token", "input_token", "fb_exchange_token", "id_token",
        "id_token_hint", "subject_token", "actor_token", "idToken", "refreshToken", "oauthIdToken", "oauthAccessToken",
        "oobCode", "sessionInfo", "mfaPendingCredential", "pendingToken", "sessionCookie",
    ]
    /// Recorded codes and tokens of at least this many bytes must be replaced by this server's when a request is
    /// repeated. If this server has issued none, the request is skipped. Shorter codes, such as those in text messages,
    /// needn't be replaced.
    private static let shortestCredential = 8

    /// Whether a value with this name differs from sign-in to sign-in, as codes, tokens and IDs do. Words of the
    /// protocol, such as a grant type, don't differ.
    private static func varies(_ name: String) -> Bool {
        Mask.isSecret(name) || momentary.contains(name) || ["id", "kid", "tid", "sid", "oid", "uid"].contains(name)
            || ["_id", "Id", "ID", "token", "Token"].contains { name.hasSuffix($0) } && name != "providerId"
    }

    /// Returns the reason why a recorded request can't be repeated: it contains a code or token, and this server hasn't
    /// issued one to send instead. A request that was refused in the recording is always repeated.
    private func missingCredential(of entry: HARFile.Entry) -> String? {
        let exchange = Comparison.exchange(entry, entry.response)
        guard entry.response.status < 400, exchange.notes.error == nil else { return nil }
        for finding in exchange.requestFindings {
            let (name, value) = (finding.name, finding.value)
            guard Comparison.credentials.contains(name), value.utf8.count >= Comparison.shortestCredential,
                values[value] == nil
            else { continue }
            // The client makes some tokens itself: a token of a Facebook app, and a custom token of Firebase.
            if value.contains("|") || name == "token" && value.hasPrefix("eyJ") { continue }
            let noun = name.lowercased().hasSuffix("code") ? "code" : "token"
            return issued.contains(value)
                ? "this request needs a \(noun) which Understudy hasn't issued"
                : "this request needs a \(noun) which isn't issued anywhere in the recording"
        }
        return nil
    }

    /// Remembers which value of this server's answer replaces which value of the recorded answer.
    private mutating func learn(_ entry: HARFile.Entry, _ answer: Response) {
        let own = Dictionary(
            Comparison.exchange(entry, answer).responseFindings.map { ($0.place, $0.value) },
            uniquingKeysWith: { first, _ in first })
        for finding in Comparison.exchange(entry, entry.response).responseFindings {
            if let value = own[finding.place] { learn(finding.name, finding.value, value) }
        }
    }

    private mutating func learn(_ theirs: JSONObject, _ ours: JSONObject) {
        for (key, value) in theirs.members {
            guard let value = value.string else { continue }
            if Comparison.varies(key) { issued.insert(value) }
            if let own = ours[key]?.string { learn(key, value, own) }
        }
    }

    private mutating func learn(_ name: String, _ theirs: String, _ ours: String) {
        guard Comparison.varies(name), theirs.utf8.count >= Comparison.shortest else { return }
        values[theirs] = ours
    }

    // MARK: - Requests

    private mutating func send(_ entry: HARFile.Entry) throws(OutgoingRequest.Failure) -> Response {
        let request = entry.request
        let translation = Translation(values: values)
        let path = request.path.split(separator: "/", omittingEmptySubsequences: false).map { part in
            let text = String(decoding: PercentCoding.decode(Array(part.utf8)[...]), as: UTF8.self)
            return values[text].map { PercentCoding.encode(Array($0.utf8)) } ?? String(part)
        }.joined(separator: "/")
        let query = request.query.map { "?\(translation.form(Form(parsing: $0), in: $0))" } ?? ""
        var headers = request.headers.filter { !Comparison.dropped.contains($0.name.lowercased()) }.map { header in
            (name: header.name, value: translation.header(header.value))
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

/// Replaces the recorded codes and tokens in a request's headers, query and body by those that this server has issued.
private struct Translation {
    let values: [String: String]

    /// Returns a form, URL-encoded, with this server's values in place of recorded values. If nothing is replaced,
    /// returns `text`, the form as it was recorded.
    func form(_ form: Form, in text: String) -> String {
        let fields = form.fields.map { Form.Field(name: $0.name, value: value($0.value, of: $0.name)) }
        let isSame = zip(fields, form.fields).allSatisfy { $0.value == $1.value }
        return isSame ? text : Form(fields: fields).encoded
    }

    /// Returns a header's value with recorded codes and tokens replaced by this server's, also within Basic
    /// credentials.
    func header(_ text: String) -> String {
        if let basic = BasicCredentials.read(header: text) {
            let own = "\(values[basic.user] ?? basic.user):\(values[basic.password] ?? basic.password)"
            return own == "\(basic.user):\(basic.password)" ? text : "Basic \(Base64.encode(Array(own.utf8)))"
        }
        return text.split(separator: " ", omittingEmptySubsequences: false).map { values[String($0)] ?? String($0) }
            .joined(separator: " ")
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
        return name == "postBody" ? form(Form(parsing: text), in: text) : text
    }
}
