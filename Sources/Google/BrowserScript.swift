import EmulatorCore
import HTTPServer
import JSON
import OAuth

// GET /gsi/client at accounts.google.com: Google Identity Services, the script that web pages load, and the paths that
// it requests. The part for tokens and codes is described at
// https://developers.google.com/identity/oauth2/web/reference/js-reference.
//
// Ours is `Assets/gsi.js`. Google documents none of the paths that the script requests; their names are those in public
// reports (https://github.com/MomenSherif/react-oauth/issues/98).

extension GoogleProvider {
    static let selectPath = "/gsi/select"
    static let oneTapPath = "/gsi/iframe"

    private static let scriptsPath = Evidence.chosen(
        "the paths that Google's script requests aren't documented; their names are those in public reports")

    var browserScript: [Endpoint] {
        let host = [GoogleProvider.host]
        let (button, oneTap) = (ButtonSignIn(google: self), OneTapSignIn(google: self))
        return [
            Endpoint(
                "GET", host, "/gsi/client", title: "the script of Google Identity Services",
                step: SignInStep(.page, "load Google Identity Services"), cors: .any, .page
            ) { exchange in
                .browserScript(
                    Scripts.gsi,
                    [GoogleProvider.host, GoogleProvider.tokenHost].map { .string(exchange.address.base(of: $0)) })
            }.known(by: .documented("https://developers.google.com/identity/gsi/web/reference/js-reference")),
            Endpoint(
                "GET", host, GoogleProvider.selectPath, title: "the pop-up of the Sign in with Google button",
                step: SignInStep(.authorization, "Sign in with Google button"), keys: [.google], .page(mints: .google)
            ) { try button.authorize($0, $0.request.queryForm) }.known(by: GoogleProvider.scriptsPath),
            Endpoint(
                "POST", host, GoogleProvider.selectPath, title: "the answer of its page",
                step: SignInStep(.decision, "answer the button's pop-up"), keys: [.google], .page(mints: .google),
                button.decide
            ).known(by: GoogleProvider.scriptsPath),
            Endpoint(
                "GET", host, GoogleProvider.oneTapPath, title: "the frame of One Tap",
                step: SignInStep(.authorization, "Google One Tap"), keys: [.google], .page(mints: .google)
            ) { try oneTap.authorize($0, $0.request.queryForm) }.known(by: GoogleProvider.scriptsPath),
            Endpoint(
                "POST", host, GoogleProvider.oneTapPath, title: "the answer of One Tap",
                step: SignInStep(.decision, "answer One Tap"), keys: [.google], .page(mints: .google), oneTap.decide
            ).known(by: GoogleProvider.scriptsPath),
            Endpoint(
                "GET", host, "/gsi/status", title: "whether a page may use the script",
                step: SignInStep(.api, "ask whether the page may use the script"), cors: .any, .api, scriptStatus
            ).known(by: GoogleProvider.scriptsPath),
            Endpoint(
                "POST", host, "/gsi/revoke", title: "an app's page takes a person's consent back",
                step: SignInStep(.revocation, "take consent back"), cors: .any, .api, revokeByPage
            ).known(by: GoogleProvider.scriptsPath),
        ]
    }

    /// Tells Google's script whether a page can show the sign-in, and if not, a reason for `getNotDisplayedReason`.
    /// Also tells whether the next sign-in is decided without a person, for example because a test has set its result.
    private func scriptStatus(_ exchange: Exchange) -> Response {
        let form = Form(fields: GoogleProvider.originField(exchange) + exchange.request.queryForm.fields)
        let client: GoogleClient
        do throws(GoogleError) {
            client = try self.client(named: form["client_id"] ?? "")
            _ = try client.origin(form)
        } catch {
            let reason = error.name == "invalid_client" ? "invalid_client" : "unregistered_origin"
            return GoogleProvider.json(["reason": .string(reason)], status: 403).diagnosed(error.diagnosis)
                .known(by: GoogleProvider.evidence.ofError(reason))
        }
        let (hasPeople, isOrdered) = exchange.world.read { tables in
            let ordered = tables.value(OutcomeQueue.self).queued.contains {
                $0.provider == name && ($0.client ?? client.id) == client.id
            }
            return (!tables.people(limit: 1).people.isEmpty, ordered)
        }
        guard hasPeople else {
            return GoogleProvider.json(["reason": "opt_out_or_no_session"])
                .addingNote(Note("there is no account to sign in: seed one, or add it with POST accounts"))
        }
        let interaction = client.interaction ?? exchange.world.seed.interaction
        return GoogleProvider.json(["reason": .null, "isOrdered": .bool(isOrdered || interaction.mode == .auto)])
    }

    /// Handles the request of `google.accounts.id.revoke`, by which a page ends a person's grant to the page's client.
    private func revokeByPage(_ exchange: Exchange) throws -> Response {
        let form = Form(fields: GoogleProvider.originField(exchange) + exchange.request.bodyForm.fields)
        do {
            let client = try client(named: form["client_id"] ?? "")
            _ = try client.origin(form)
            let hint = form["hint"] ?? ""
            guard try endGrant(of: hint, to: client, exchange) != nil else {
                throw GoogleProvider.unknownHint(hint, at: client)
            }
            return GoogleProvider.json([:])
        } catch let error as GoogleError {
            return error.jsonResponse
        }
    }

    /// Ends the grant of a person to a client, and returns the person's account. `hint` is the person's email address
    /// or `sub`. Returns `nil` if there is no such grant.
    func endGrant(of hint: String, to client: GoogleClient, _ exchange: Exchange) throws -> Account? {
        guard let account = account(hinted: hint, exchange) else { return nil }
        let moment = exchange.cause("a page revoked it")
        return try exchange.world.update { tables in
            guard let grant = tables.grant(GoogleGrant.self, of: account.id, to: client.id) else { return nil }
            tables.end(grant, because: moment)
            return account
        }
    }

    /// Returns the error for a hint (an address or a `sub`) that names nobody who has signed in to the client.
    static func unknownHint(_ hint: String, at client: GoogleClient) -> GoogleError {
        GoogleError(
            "invalid_hint", nil,
            Diagnosis(
                received: "hint \(Diagnosis.quote(hint))",
                "no user with this e-mail address or sub has signed in to client \(Diagnosis.quote(client.id))"))
    }

    /// Returns the form field `origin` with the value of the header `Origin`, which the browser sets.
    private static func originField(_ exchange: Exchange) -> [Form.Field] {
        exchange.request.header("Origin").map { [Form.Field(name: "origin", value: $0)] } ?? []
    }
}

// The origins of pages that may use Google's script for a client:
// https://developers.google.com/identity/protocols/oauth2/javascript-implicit-flow#origin-validation. Names that Google
// refuses, such as those of containers, are accepted here.

extension JavaScriptOrigin {
    /// Reads the origin in a redirect URI such as `storagerelay://http/localhost:3000?id=auth1`: the origin of the page
    /// that has opened the pop-up. Google doesn't document such URIs; they occur in public reports:
    /// <https://github.com/google/google-api-javascript-client/issues/629>.
    init?(relay uri: String) {
        guard uri.hasPrefix("storagerelay://") else { return nil }
        let rest = uri.dropFirst("storagerelay://".count)
        let address = Substring(rest.utf8.prefix { $0 != UInt8(ascii: "?") })
        let parts = address.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        self.init("\(parts[0])://\(parts[1])")
    }
}

extension GoogleClient {
    func accepts(_ origin: JavaScriptOrigin) -> Bool {
        type == .web && origin.isAmong(javaScriptOrigins)
    }

    func check(_ origin: JavaScriptOrigin) throws(GoogleError) {
        guard !accepts(origin) else { return }
        throw GoogleClient.originMismatch(
            origin.text, expected: RegisteredRedirectURI.alternatives(javaScriptOrigins),
            type == .web
                ? "register it in javaScriptOrigins of \"\(id)\" in the seed: scheme, host and port, without a path"
                : "a client of type \(type.rawValue) has no JavaScript origins: use one of type web")
    }

    /// Returns the origin of the page in a request by Google's script, or throws if the client hasn't registered it.
    func origin(_ form: Form) throws(GoogleError) -> JavaScriptOrigin {
        let text = form["origin"] ?? ""
        guard !text.isEmpty else { throw .missing("origin") }
        guard let origin = JavaScriptOrigin(text) else {
            throw GoogleClient.originMismatch(text, expected: nil, "an origin is a scheme, a host and a port")
        }
        try check(origin)
        return origin
    }

    /// Returns Google's error for a page whose origin isn't registered for the client.
    private static func originMismatch(_ origin: String, expected: String?, _ advice: String) -> GoogleError {
        GoogleError(
            "origin_mismatch",
            "You can't sign in to this app because it doesn't comply with Google's OAuth 2.0 policy. If you're the app developer, "
                + "register the JavaScript origin in the Google Cloud Console.",
            Diagnosis(received: "origin \(Diagnosis.quote(origin))", expected: expected, advice))
    }
}
