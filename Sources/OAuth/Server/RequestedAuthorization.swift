import EmulatorCore
import HTTPServer

/// A checked authorization request.
package struct RequestedAuthorization: Sendable {
    /// The way in which a refusal is sent.
    package enum Failure: Error {
        /// On a page, because the client's redirect URI isn't known.
        case page(OAuthRefusal)
        case answer(OAuthRefusal, AuthorizationResponse)
    }

    package let client: ClientMetadata
    package let redirectURI: String
    package let parameters: AuthorizationParameters
    /// The client's parameters: from its query, a request object, or a pushed request.
    package let fields: Form
    /// The form as it came, for the sign-in page to carry along.
    package let form: Form
    /// The pushed request, if there is one.
    package let pushed: PushedRequest?

    /// Checks a request. `isAnswer` means that a page's form carries it.
    package init(
        _ sent: Form, at server: some AuthorizationServer, in exchange: Exchange, isAnswer: Bool = false
    ) throws(Failure) {
        let form = sent.withoutEmptyFields
        self.form = form
        do throws(OAuthRefusal) {
            client = try RequestedAuthorization.client(form, server, exchange)
        } catch { throw .page(error) }
        try RequestedAuthorization.checkReference(form, client, server, exchange)
        do throws(OAuthRefusal) {
            pushed = try RequestedAuthorization.pushed(form, client, server, exchange, isAnswer)
            fields = try RequestObject.resolve(
                pushed?.form ?? form, client: client.credentials, issuer: server.identifier(exchange), in: exchange)
            redirectURI = try RequestedAuthorization.redirectURI(fields, client, server)
        } catch { throw .page(error) }
        do throws(OAuthRefusal) {
            parameters = try AuthorizationParameters(fields, client, server.policy)
        } catch { throw .answer(error, server.answer(exchange, to: redirectURI, of: fields)) }
    }

    private static func client(
        _ form: Form, _ server: some AuthorizationServer, _ exchange: Exchange
    ) throws(OAuthRefusal) -> ClientMetadata {
        try form.checkRepetitions()
        let id = try form.required("client_id")
        if let client = server.client(id, in: exchange.world) { return client }
        throw OAuthRefusal(
            "invalid_client",
            Diagnosis(received: "client_id \(Diagnosis.quote(id))", server.noClient(id)))
    }

    /// Refuses the URI of a remote request object, which isn't fetched here. If its redirect URI is registered, the
    /// client gets this error: <https://openid.net/specs/openid-connect-core-1_0.html#AuthError>.
    private static func checkReference(
        _ form: Form, _ client: ClientMetadata, _ server: some AuthorizationServer, _ exchange: Exchange
    ) throws(Failure) {
        guard let uri = form["request_uri"], !uri.hasPrefix(PushedRequest.uriPrefix),
            let redirectURI = try? redirectURI(form, client, server)
        else { return }
        let diagnosis = Diagnosis(
            received: "request_uri \(Diagnosis.quote(uri))", expected: "one that was pushed (RFC 9126)",
            "push the request, or send the object itself in request")
        throw .answer(
            OAuthRefusal("request_uri_not_supported", diagnosis), server.answer(exchange, to: redirectURI, of: form))
    }

    private static func pushed(
        _ form: Form, _ client: ClientMetadata, _ server: some AuthorizationServer, _ exchange: Exchange,
        _ isAnswer: Bool
    ) throws(OAuthRefusal) -> PushedRequest? {
        if let uri = form["request_uri"] {
            let owner = server.key(of: client)
            return try exchange.world.read { (tables) throws(OAuthRefusal) in
                try tables.pushedRequest(uri, of: owner, isAnswer: isAnswer)
            }
        }
        guard server.policy.requiresPushedRequests else { return nil }
        throw OAuthRefusal(
            "invalid_request",
            Diagnosis("this issuer takes pushed requests only (requirePushedRequests): send a request_uri"))
    }

    /// Returns the request's redirect URI, which must be registered.
    package static func redirectURI(
        _ form: Form, _ client: ClientMetadata, _ server: some AuthorizationServer
    ) throws(OAuthRefusal) -> String {
        let uri = form["redirect_uri"] ?? ""
        if client.mayUse(redirectURI: uri, among: client.redirectURIs, server.policy.redirectURIComparison) {
            return uri
        }
        throw OAuthRefusal(
            "invalid_request",
            Diagnosis(
                received: "redirect_uri \(Diagnosis.quote(uri))",
                expected: RegisteredRedirectURI.alternatives(client.redirectURIs),
                "register it in redirectURIs of \"\(client.clientID)\", character by character"
            ).mended(
                byMerging: [
                    server.provider: [
                        "issuers": [
                            [
                                "id": .string(server.id),
                                "clients": [
                                    ["clientID": .string(client.clientID), "redirectURIs": [.string(uri)]]
                                ],
                            ]
                        ]
                    ]
                ]))
    }
}
