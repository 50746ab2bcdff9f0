import HTTPServer
import JSON
import Recordings

/// A step of a sign-in, such as redeeming a code. Every recorded request is classified as such a step.
package struct SignInStep: Sendable {
    package enum Kind: Sendable {
        /// The step of a sign-in in which a browser is sent to the authorization endpoint.
        case authorization
        /// The step of a sign-in in which the person answers a page: who signs in, and whether they consent.
        case decision
        /// The step of a sign-in in which a client pushes its authorization request:
        /// <https://datatracker.ietf.org/doc/html/rfc9126>.
        case pushedRequest
        /// The step of a sign-in in which a call of the control API delivers the result that an SDK on a device would
        /// deliver.
        case native
        /// The step of a sign-in in which a code is exchanged for tokens.
        case redemption
        case refresh
        case deviceCode
        case devicePoll
        case clientCredentials
        case tokenExchange
        /// The step of a sign-in in which a service, such as Firebase Authentication, accepts a credential of its own
        /// or of another provider.
        case service
        case userInfo
        case api
        case introspection
        case revocation
        case logout
        case keySet
        case discovery
        case page
        /// The step of a sign-in in which a provider notifies a client's server of an event.
        case message
        case other
    }

    package let kind: Kind
    /// A short description of a sign-in's step, such as "redeem code".
    package let label: String

    package init(_ kind: Kind, _ label: String) {
        self.kind = kind
        self.label = label
    }

    private static let authorization = "ask to sign in"

    /// Whether this step of a sign-in is shown as "ask to sign in", which is the text for most authorization requests.
    package var isOrdinary: Bool { label == SignInStep.authorization }
}

extension SignInStep {
    /// Finds the step of a sign-in to which a recorded request belongs. If the endpoint doesn't name the step, the step
    /// is recognized by the kind of endpoint, the form's `grant_type`, and words in the path.
    package init(_ exchange: RecordedExchange, at endpoint: Endpoint?) {
        let traits = endpoint?.traits
        if let step = endpoint?.step?(exchange) {
            self = step
        } else if exchange.mail != nil {
            self = SignInStep(.other, "mail")
        } else if let step = SignInStep(grantOf: exchange) {
            self = step
        } else if traits?.publishes != nil {
            self = SignInStep(.keySet, "get keys")
        } else if traits?.authorizes ?? false {
            self = SignInStep(authorizing: exchange, traits)
        } else if endpoint?.isControl ?? false {
            self = SignInStep(.native, "sign in natively")
        } else {
            self = SignInStep(path: exchange, answersJSON: traits?.answersJSON ?? true)
        }
    }

    /// Finds the step of a sign-in by the `grant_type` of a token request. Returns `nil` for any other request.
    private init?(grantOf exchange: RecordedExchange) {
        guard let grant = exchange.notes.request["granttype"] else { return nil }
        switch grant {
        case "authorization_code": self = SignInStep(.redemption, "redeem code")
        case "refresh_token": self = SignInStep(.refresh, "refresh token")
        case "client_credentials": self = SignInStep(.clientCredentials, "ask for a token with client credentials")
        case "urn:ietf:params:oauth:grant-type:device_code":
            self = SignInStep(.devicePoll, "ask for a token with the device code")
        case "urn:ietf:params:oauth:grant-type:token-exchange": self = SignInStep(.tokenExchange, "exchange token")
        default: self = SignInStep(.other, "ask for a token")
        }
    }

    private init(authorizing exchange: RecordedExchange, _ traits: EndpointTraits?) {
        // The form of a page has the authorization request as one field; the authorization request itself names its
        // client.
        let isDecision = exchange.request.method == "POST" && exchange.request.bodyForm["client_id"] == nil
        self =
            isDecision ? SignInStep(.decision, "answer the page") : SignInStep(.authorization, SignInStep.authorization)
    }

    /// A table of words in a request's path, each with the step of a sign-in for which it stands. The first word that
    /// the path contains decides.
    private static let words: [(word: String, step: SignInStep)] = [
        ("openid-configuration", SignInStep(.discovery, "discover")),
        ("oauth-authorization-server", SignInStep(.discovery, "discover")),
        ("jwks", SignInStep(.keySet, "get keys")),
        ("userinfo", SignInStep(.userInfo, "ask who it is")),
        ("tokeninfo", SignInStep(.introspection, "inspect token")),
        ("introspect", SignInStep(.introspection, "inspect token")),
        ("revoke", SignInStep(.revocation, "revoke token")),
        ("device_authorization", SignInStep(.deviceCode, "ask for a device code")),
        ("logout", SignInStep(.logout, "sign out")),
    ]

    private init(path exchange: RecordedExchange, answersJSON: Bool) {
        let path = exchange.path.lowercased()
        // The paths of endpoints are much shorter than this.
        let known = path.utf8.count <= 300 ? SignInStep.words.first { path.contains($0.word) }?.step : nil
        if let known {
            self = known
        } else if !answersJSON {
            self = SignInStep(.page, exchange.request.method == "POST" ? "send the page's form" : "open page")
        } else {
            self = SignInStep(.api, "call the API")
        }
    }
}

/// Finds the endpoint that has answered a recorded request, and the endpoint's provider.
package struct EndpointFinder: Sendable {
    private let table: EndpointTable

    package init(providers: [any Provider]) { table = EndpointTable(providers: providers, own: []) { _, _ in nil } }

    package func plays(_ host: String) -> Bool { table.serves(host) }

    /// Returns the endpoint and the provider that have answered a recorded request. The endpoint is `nil` if nothing is
    /// served at the request's path; the provider may still be known from the host.
    package func find(_ exchange: RecordedExchange) -> (provider: (any Provider)?, endpoint: Endpoint?) {
        switch table.match(exchange.request.method, host: exchange.host, path: exchange.path) {
        case .found(let entry, _): (entry.provider, entry.endpoint)
        case .methodNotAllowed, .notFound: (table.providers(at: exchange.host).first, nil)
        }
    }
}
