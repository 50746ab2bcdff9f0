import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Text
import Time

// The access token of a call to the Graph API.
//
// Quirks: parameters may be in the query, or in a body of any form: urlencoded, multipart/form-data as `curl -F` sends
// it, JSON. An app's own token is APPID|SECRET.

/// A person's access token of Facebook. It was issued, but may have stopped working.
struct AccessToken: Sendable {
    let token: Token<FacebookGrant>
    let grant: FacebookGrant
    /// The person's account; `nil` if it was deleted.
    let account: Account?

    /// The time from which the app may not read the person's data any more, unless the person signs in again.
    var dataAccessExpires: Instant { token.details.issuedAt + FacebookToken.dataAccess }

    /// Whether the access token was issued for weeks, not just for hours.
    var isLongLived: Bool {
        token.expires.map { $0 > token.details.issuedAt + .days(1) } ?? true
    }

    /// Returns the Graph API's error for an access token that has expired or whose access to data has ended; `nil` if
    /// it works.
    func fault(at now: Instant) -> GraphError? {
        if let expires = token.expires, expires <= now { return .expired(at: expires, now: now) }
        guard dataAccessExpires <= now else { return nil }
        return FacebookProvider.dataAccessEnded(
            Diagnosis(
                "access to the user's data ended 90 days after the sign-in: have the user sign in again (exchanging the token doesn't help)"
            ))
    }
}

/// The person whom a Graph API call is about, and this person's grant to the calling app.
struct GraphPerson: Sendable {
    let account: Account
    let grant: FacebookGrant

    /// This is true if the app may see the person's friends.
    var showsFriends: Bool { grant.granted.contains("user_friends") }
}

/// The caller of the Graph API: an app that sends its own access token, or the person whose token was sent.
enum GraphCaller: Sendable {
    case app(FacebookApp)
    case person(GraphPerson)
}

extension FacebookProvider {
    func parameter(_ name: String, _ exchange: Exchange) -> String? {
        let request = exchange.request
        return request.queryForm[name] ?? FacebookProvider.bodyParameters(request)[name]
    }

    private static func bodyParameters(_ request: Request) -> Form {
        guard !request.body.isEmpty else { return Form(fields: []) }
        guard request.hasJSONBody else {
            return request.contentType == "multipart/form-data" ? request.partsForm : request.bodyForm
        }
        return Form(
            fields: (request.jsonBody?.object?.members ?? []).compactMap { member in
                member.value.parameterText(of: member.key).map { Form.Field(name: member.key, value: $0) }
            })
    }

    /// Returns the error for a JSON or multipart body that has more or longer parameters than a URL-encoded form may
    /// have; `nil` for any other body.
    func excess(_ exchange: Exchange) -> Response? {
        guard exchange.request.contentType != "application/x-www-form-urlencoded" else { return nil }
        let fields = FacebookProvider.bodyParameters(exchange.request).fields
        guard fields.count <= RequestBudget.fields else {
            return overBudget(
                exchange, Diagnosis(expected: "at most \(RequestBudget.fields) parameters", "send fewer parameters"))
        }
        return fields.first { $0.value.utf8.count > RequestBudget.value }.flatMap { field in
            overBudget(
                exchange,
                Diagnosis(
                    received: "the parameter \(Diagnosis.quote(field.name)) of \(field.value.utf8.count) bytes",
                    expected: "at most \(RequestBudget.value) bytes", "shorten its value"))
        }
    }

    /// Returns the access token of a request to the Graph API; an empty text if there is none.
    func callerToken(_ exchange: Exchange) -> String {
        parameter("access_token", exchange) ?? exchange.request.accessToken(schemes: ["bearer", "oauth"]) ?? ""
    }

    /// Returns a person's access token that was issued, whether it still works or not.
    ///
    /// - Throws: The Graph API's error for an unknown token, or for a token whose app the person has removed.
    func issuedToken(_ text: String, _ exchange: Exchange) throws(GraphError) -> AccessToken {
        let (found, removed) = exchange.world.read { tables in
            let token = tables.find(Token<FacebookGrant>.self, text)
            let found = token.flatMap { token in
                tables.find(FacebookGrant.self, token.grant).map { grant in
                    AccessToken(token: token, grant: grant, account: tables.account(grant.account))
                }
            }
            return (found, found == nil ? tables.find(RemovedToken.self, text) : nil)
        }
        if let found { return found }
        let reason = exchange.reason(againstUsing: text, .access, FacebookGrant.self)
        if let removed { throw .notAuthorized(app: removed.app, because: reason) }
        throw GraphError(
            message: "Invalid OAuth access token - Cannot parse access token", code: 190,
            diagnosis: Diagnosis(reason))
    }

    /// Checks a person's access token, and returns it.
    ///
    /// - Throws: The Graph API's error for a token that doesn't work.
    func accessToken(_ text: String, _ exchange: Exchange) throws(GraphError) -> AccessToken {
        let found = try issuedToken(text, exchange)
        if let fault = found.fault(at: exchange.world.now) { throw fault }
        return found
    }

    /// Returns the app whose own access token (APPID|SECRET) this is; `nil` if the text has the form of a person's
    /// token.
    func app(ofToken text: String) throws(GraphError) -> FacebookApp? {
        guard let bar = text.firstIndex(of: "|") else { return nil }
        if let app = apps[String(text[..<bar])],
            String(text[text.index(after: bar)...]).isSecret(app.secret)
        {
            return app
        }
        throw GraphError(
            message: "Invalid OAuth access token signature.", code: 190,
            diagnosis: Diagnosis(
                "an app access token is APPID|SECRET, and no app with this ID and secret is configured in the seed"))
    }

    /// Returns the person whom a Graph API call is about: the person of the access token, or the one whose ID is in the
    /// path.
    func person(_ exchange: Exchange) throws(GraphError) -> GraphPerson {
        try person(exchange, id: exchange.parameters["id"], for: caller(exchange))
    }

    /// Returns the caller of the Graph API, whom the request's access token identifies; `nil` if the request has no
    /// token.
    func caller(_ exchange: Exchange) throws(GraphError) -> GraphCaller? {
        let text = callerToken(exchange)
        guard !text.isEmpty else { return nil }
        if let app = try app(ofToken: text) {
            try checkProof(exchange, text, app)
            return .app(app)
        }
        let caller = try accessToken(text, exchange)
        guard let account = caller.account else {
            throw GraphError(
                message: "Error validating access token: The session is invalid because the user logged out.",
                code: 190, subcode: 467, diagnosis: Diagnosis("the user's account was deleted"))
        }
        if let app = apps[caller.grant.app] { try checkProof(exchange, text, app) }
        return .person(GraphPerson(account: account, grant: caller.grant))
    }

    /// Returns the person whom a Graph API call is about. A call with an app's own token must name the person by ID.
    func person(_ exchange: Exchange, id: String?, for caller: GraphCaller?) throws(GraphError) -> GraphPerson {
        switch (caller, id == "me" ? nil : id) {
        case (nil, _?): throw .tokenMissing
        case (nil, nil):
            throw notAPerson("access_token is missing: send it as a parameter, or as Authorization: Bearer")
        case (.app, nil):
            throw notAPerson("/me is a user, but the access token is the app's own: name the user by ID")
        case (.app(let app), let id?):
            let found = exchange.world.read { tables -> GraphPerson? in
                tables.account(facebookID: id).flatMap { account in
                    tables.grant(FacebookGrant.self, of: account.id, to: app.id).map {
                        GraphPerson(account: account, grant: $0)
                    }
                }
            }
            if let found { return found }
            throw noSuchObject(
                id, exchange,
                Diagnosis(
                    "no user with this ID has authorized the app, and an app access token shows only users who have authorized the app"
                ))
        case (.person(let person), let id):
            guard let id, id != person.account.facebook.id else { return person }
            throw noSuchObject(id, exchange, Diagnosis("a user access token shows only its own user: request /me"))
        }
    }

    private func notAPerson(_ reason: String) -> GraphError {
        GraphError(
            message: "An active access token must be used to query information about the current user.", code: 2500,
            diagnosis: Diagnosis(reason))
    }

    /// Returns the Graph API's error for an unknown object. `id` counts as an object's ID if it consists of digits, and
    /// as a name otherwise.
    func noSuchObject(_ id: String, _ exchange: Exchange, _ diagnosis: Diagnosis) -> GraphError {
        id.utf8.allSatisfy { (0x30...0x39).contains($0) }
            ? .unsupported(exchange.request.method, id: id, diagnosis) : .noSuchName(id, diagnosis)
    }

    /// Checks the parameter `appsecret_proof` of a Graph API call, which is optional unless the app requires it. With
    /// `appsecret_time`, the proof is valid for five minutes before and after that time.
    private func checkProof(_ exchange: Exchange, _ token: String, _ app: FacebookApp) throws(GraphError) {
        guard let proof = parameter("appsecret_proof", exchange) else {
            guard app.requiresAppSecret else { return }
            throw GraphError(
                message: "API calls from the server require an appsecret_proof argument", code: 100, kind: .method,
                diagnosis: Diagnosis(
                    "appsecret_proof is missing, and the app has requireAppSecret in the seed: send the hex HMAC-SHA256 of the access token, with the app secret as key"
                ))
        }
        let time = parameter("appsecret_time", exchange)
        let expected = Digest.hmacSHA256(
            key: Array(app.secret.utf8), Array((token + (time.map { "|\($0)" } ?? "")).utf8))
        let isInTime =
            time.map { text in
                let age = Int64(text).flatMap { Instant(seconds: $0) }.map { exchange.world.now - $0 }
                return age.map { $0 > .minutes(-5) && $0 < .minutes(5) } ?? false
            } ?? true
        guard proof != Hex.encode(expected) || !isInTime else { return }
        throw GraphError(
            message: "Invalid appsecret_proof provided in the API argument", code: 100, kind: .method,
            diagnosis: Diagnosis(
                isInTime
                    ? "appsecret_proof must be the hex HMAC-SHA256 of the access token, with the app secret as key"
                    : "appsecret_time must be the test world's time in seconds, at most five minutes off"))
    }

    /// Returns the app that calls the Graph API. It is found by its own access token, or by the token of a person who
    /// signed in to it.
    func callingApp(_ exchange: Exchange) throws(GraphError) -> FacebookApp {
        let text = callerToken(exchange)
        guard !text.isEmpty else { throw .tokenMissing }
        if let app = try app(ofToken: text) {
            try checkProof(exchange, text, app)
            return app
        }
        let caller = try accessToken(text, exchange)
        guard let app = apps[caller.grant.app] else { throw .notAuthorized(app: caller.grant.app) }
        try checkProof(exchange, text, app)
        return app
    }
}

extension JSONValue {
    /// Returns a member of a JSON body as the text that a form would contain; `nil` for null, an object or an array. An
    /// array in the parameter `batch` is returned as JSON text, because
    /// <https://github.com/facebook/facebook-nodejs-business-sdk> posts this parameter as an array.
    fileprivate func parameterText(of name: String) -> String? {
        switch self {
        case .string(let text): text.withoutEndlessMarks
        case .bool, .integer, .number: text
        case .array where name == "batch": text
        case .null, .array, .object: nil
        }
    }
}

// GET and POST https://graph.facebook.com/debug_token
//
// Quirks: an invalid `input_token` isn't an error: the answer is 200 with `is_valid` false. The caller must have the
// app's token or that of one of its developers. Only a long-lived token has `issued_at`.

extension FacebookProvider {
    func debugToken(_ exchange: Exchange) throws(GraphError) -> Response {
        let app = try viewingApp(exchange)
        guard let text = parameter("input_token", exchange), !text.isEmpty else {
            throw GraphError(
                message: "(#100) The parameter input_token is required", code: 100,
                diagnosis: Diagnosis("input_token is missing: send the token to inspect"))
        }
        do throws(GraphError) {
            if let inspected = try self.app(ofToken: text) {
                try check(inspected.id, isSeenBy: app)
                return FacebookProvider.json([
                    "data": [
                        "app_id": .string(app.id), "type": "APP", "application": .string(app.name), "is_valid": true,
                        "scopes": [],
                    ]
                ])
            }
            let found = try issuedToken(text, exchange)
            try check(found.grant.app, isSeenBy: app)
            let fault = found.fault(at: exchange.world.now)
            return answer(description(found, app, fault), fault)
        } catch {
            guard error.code == 190 else { throw error }
            var data = JSONObject([("error", .object(error.inspected)), ("is_valid", false), ("scopes", [])])
            // The app of an issued token is known even if the person has removed it.
            if error.subcode != nil { data["app_id"] = .string(app.id) }
            return answer(data, error)
        }
    }

    /// Returns the app that calls debug_token. The caller sends the app's own access token, or a token of one of the
    /// app's developers.
    private func viewingApp(_ exchange: Exchange) throws(GraphError) -> FacebookApp {
        let text = callerToken(exchange)
        guard !text.isEmpty else { throw .tokenMissing }
        if let app = try app(ofToken: text) { return app }
        let caller = try accessToken(text, exchange)
        if let app = apps[caller.grant.app], app.developers.contains(caller.grant.account) {
            return app
        }
        throw GraphError(
            message:
                "(#100) You must provide an app access token, or a user access token that is an owner or developer of the app",
            code: 100,
            diagnosis: Diagnosis(
                received: "the access token of account \(Diagnosis.quote(caller.grant.account))",
                expected: "the app's access token (APPID|SECRET), or the user access token of one of its developers",
                "send APPID|SECRET as access_token, or add the account to the app's \"developers\" in the seed"))
    }

    private func check(_ owner: String, isSeenBy app: FacebookApp) throws(GraphError) {
        guard owner != app.id else { return }
        throw GraphError(
            message: "(#100) The App_id in the input_token did not match the Viewing App", code: 100,
            diagnosis: Diagnosis("input_token was issued to another app, \"\(owner)\""))
    }

    private func description(_ found: AccessToken, _ app: FacebookApp, _ fault: GraphError?) -> JSONObject {
        var data = JSONObject([
            ("app_id", .string(app.id)), ("type", "USER"), ("application", .string(app.name)),
            ("data_access_expires_at", .numericDate(found.dataAccessExpires)),
        ])
        data["error"] = fault.map { .object($0.inspected) }
        data["expires_at"] = .numericDate(found.token.expires ?? .first)
        data["is_valid"] = .bool(fault == nil)
        if found.isLongLived { data["issued_at"] = .numericDate(found.token.details.issuedAt) }
        data["scopes"] = .array(found.grant.granted.map { .string($0) })
        data["user_id"] = .string(found.account?.facebook.id ?? "")
        return data
    }

    private func answer(_ data: JSONObject, _ fault: GraphError?) -> Response {
        let response = FacebookProvider.json(["data": .object(data)])
        return fault.map { response.addingNote(Note($0.diagnosis)) } ?? response
    }
}

extension GraphError {
    /// The error in the form in which debug_token reports an invalid token.
    fileprivate var inspected: JSONObject {
        var error = JSONObject([("code", .integer(code)), ("message", .string(message))])
        error["subcode"] = subcode.map { .integer($0) }
        return error
    }
}

/// The form of times in the Graph API's messages. They are in Pacific Time, such as `Wednesday, 14-Feb-18 18:00:00
/// PST`.
enum PacificTime {
    private static let days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    static func text(_ instant: Instant) -> String {
        let isSummer = isSummer(instant)
        let local = instant - .hours(isSummer ? 7 : 8)
        // An example of the text is 2018-02-14T18:00:00Z.
        let text = Array(local.text.utf8)
        func part(_ range: Range<Int>) -> String { String(decoding: text[range], as: UTF8.self) }
        let month = Int(part(5..<7)).flatMap { months.indices.contains($0 - 1) ? months[$0 - 1] : nil } ?? ""
        return
            "\(days[weekday(local)]), \(part(8..<10))-\(month)-\(part(2..<4)) \(part(11..<19)) \(isSummer ? "PDT" : "PST")"
    }

    /// Returns the day of the week; 0 is Sunday. The first of January 1970 was a Thursday.
    private static func weekday(_ instant: Instant) -> Int { Int((instant.seconds / 86_400 + 4) % 7) }

    /// Whether daylight saving time applies: from the second Sunday of March to the first Sunday of November, changing
    /// at two o'clock (the rule since 2007).
    /// <https://www.nist.gov/pml/time-and-frequency-division/popular-links/daylight-saving-time-dst>
    private static func isSummer(_ instant: Instant) -> Bool {
        let year = instant.text.prefix(4)
        guard let march = Instant("\(year)-03-01T10:00:00Z"), let november = Instant("\(year)-11-01T09:00:00Z") else {
            return false
        }
        func firstSunday(_ day: Instant) -> Instant { day + .days(Int64((7 - weekday(day)) % 7)) }
        return instant >= firstSunday(march) + .days(7) && instant < firstSunday(november)
    }
}
