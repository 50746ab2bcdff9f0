import EmulatorCore
import JSON
import OAuth
import Time

/// The rules that the seed (the test data) sets for an authorization server. The defaults are those of OAuth 2.1 and
/// <https://datatracker.ietf.org/doc/html/rfc9700>.
struct ServerPolicy: SchemaObject {
    enum RefreshTokens: String, CaseIterable, Sendable {
        case offlineAccess = "offline_access"
        case always
        case never
    }

    /// The rule for who may register clients: <https://datatracker.ietf.org/doc/html/rfc7591#section-1.2>.
    enum Registration: String, CaseIterable, Sendable {
        case open
        /// Only callers with the initial access token may register clients.
        case token
        case off
    }

    let responseTypes: [Set<String>]
    let pkce: PKCEPolicy
    let pkceMethods: [String]
    let redirectURIComparison: RegisteredRedirectURI.Comparison
    /// Whether authorization responses have the parameter `iss`.
    let isNamedInAnswers: Bool
    let codeReuseRevokes: Bool
    let refreshTokens: RefreshTokens
    let rotatesRefreshTokens: Bool
    let requiresPushedRequests: Bool
    /// The client authentication methods that the metadata lists, and that registered clients may have.
    let authenticationMethods: [ClientAuthenticationMethod]
    let hasSingleSignOn: Bool
    let acrValues: [String]
    let registration: Registration
    let registrationToken: String
    /// Whether a client that registers without `application_type` is always a web client. Otherwise, its type follows
    /// from its redirect URIs.
    let defaultsToWeb: Bool
    let clientMetadataDocuments: Bool
    /// The hosts, in addition to this machine, from which client metadata documents may be fetched: the names in lower
    /// case, with a port unless it is 443.
    let clientMetadataHosts: Set<String>
    let clientDocuments: [String: JSONValue]
    let dpop: DPoPPolicy
    let asksForProofNonce: Bool
    /// The other issuers for which this issuer gives identity assertions (ID-JAG) to clients. A client exchanges an
    /// identity assertion for an access token of the other issuer.
    let crossAppAccess: [CrossAppAccess]
    /// The IDs of the issuers whose identity assertions are accepted.
    let trustedIssuers: [String]
    let workloadPlatforms: [WorkloadPlatform]
    let lifetimes: Lifetimes
    let paths: EndpointPaths

    init(_ fields: inout Fields) {
        let wantedTypes = fields(
            "responseTypes", .set(of: .text(.nonEmpty)), default: ["code", "id_token", "code id_token"],
            "Response types; by default none that brings an access token through the browser (RFC 9700)."
        ).map(AuthorizationParameters.responseType)
        pkce = fields(
            "pkce", .choice(PKCEPolicy.self), default: .public,
            "The clients that must use PKCE: public ones, all, or none.")
        pkceMethods = fields(
            "pkceMethods", .set(of: .choice(["S256", "plain"])), default: ["S256"], "Methods of code_challenge.")
        redirectURIComparison = fields(
            "redirectURIComparison", .choice(RegisteredRedirectURI.Comparison.self), default: .exact,
            "The comparison of `redirect_uri` with the registered URIs.")
        isNamedInAnswers = fields(
            "issInAnswers", .boolean, default: true, "Whether authorization responses carry iss (RFC 9207).")
        codeReuseRevokes = fields(
            "codeReuseRevokes", .boolean, default: true,
            "Whether a code's second use revokes what the first brought.")
        refreshTokens = fields(
            "refreshTokens", .choice(RefreshTokens.self), default: .offlineAccess,
            "The condition for refresh tokens: the scope offline_access, always, or never.")
        rotatesRefreshTokens = fields(
            "refreshRotation", .boolean, default: true,
            "Whether a refresh token works once and brings the next; a second use revokes the grant.")
        requiresPushedRequests = fields(
            "requirePushedRequests", .boolean, default: false, "Take pushed authorization requests only (RFC 9126).")
        let methods = fields(
            "tokenEndpointAuthMethods", .set(of: .choice(ClientAuthenticationMethod.self)),
            default: ClientAuthenticationMethod.allCases,
            "The authentication methods of clients that register, as the metadata lists them. A client that asks for another one gets the first that suits. Clients of this file aren't limited to them."
        )
        authenticationMethods = methods.isEmpty ? ClientAuthenticationMethod.allCases : methods
        hasSingleSignOn = fields(
            "singleSignOn", .boolean, default: true, "Whether a browser stays signed in from one client to the next.")
        acrValues = fields(
            "acrValues", .set(of: .text(.nonEmpty)), default: [],
            "The values of `acr` that can be requested; any by default. The first is given to requests without one.")
        registration = fields(
            "registration", .choice(Registration.self), default: .off,
            "Whether clients may register themselves (RFC 7591): all, those that send `registrationToken`, or none.")
        registrationToken = fields(
            "registrationToken", .text(.nonEmpty), default: "registration-token-for-tests",
            "The initial access token for `\"registration\": \"token\"`.")
        defaultsToWeb =
            fields(
                "defaultApplicationType", .choice(["fitting", "web"]), default: "fitting",
                "The type of a client that registers without `application_type`: the one that suits its redirect URIs, or `web`, as in OpenID Connect, which refuses http."
            ) == "web"
        clientMetadataDocuments = fields(
            "clientMetadataDocuments", .boolean, default: false,
            "Whether a client ID may be the URL of a document that describes the client. Such documents are fetched from this machine and from `clientMetadataHosts`."
        )
        clientMetadataHosts = Set(
            fields(
                "clientMetadataHosts", .set(of: .text(ServerPolicy.host)), default: [],
                "Hosts from which documents of clients are fetched: at port 443, or at the port that is named, as in `app.example:8443`."
            ).map { $0.lowercased() })
        clientDocuments = Dictionary(
            fields.map("clientDocuments", of: .any, "Clients' documents by their URL, which needn't be fetched then.")
                .map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        let dpop = fields(
            "dpop", .choice(DPoPPolicy.self), default: DPoPPolicy.off,
            "Whether tokens are bound to a client's key (RFC 9449): never, for clients that send a proof, or always. With `required`, no response type brings an access token through the browser, where there is no proof."
        )
        self.dpop = dpop
        responseTypes = wantedTypes.filter { dpop != .required || !$0.contains("token") }
        asksForProofNonce = fields(
            "dpopNonce", .boolean, default: false,
            "Whether a proof must carry the server's nonce, which clients learn by `use_dpop_nonce`.")
        crossAppAccess = fields.list(
            "crossAppAccess", of: CrossAppAccess.self, key: "issuer",
            "Other issuers of this file for which token exchange gives clients an assertion of a person (ID-JAG).")
        trustedIssuers = fields(
            "trustedIssuers", .set(of: .text(.identifier)), default: [],
            "Other issuers of this file, by id, whose assertions of a person (ID-JAG) bring an access token here.")
        workloadPlatforms = fields.list(
            "workloadPlatforms", of: WorkloadPlatform.self, key: "issuer",
            "Platforms, such as Kubernetes, for whose tokens workloads get an access token here (RFC 7523).")
        lifetimes = fields.object("lifetimes", Lifetimes.self, "The lifetimes.")
        paths = fields.object(
            "paths", EndpointPaths.self,
            "The paths of the endpoints, below the issuer; `../` leaves out the last part of the issuer's path.")
    }

    private static let host = TextRule(
        about: "a host's name, with a port where it isn't 443: \"app.example\" or \"app.example:8443\"",
        pattern: "^[^/@?#\\s]+$"
    ) { WebAddress("https://\($0)")?.rest.isEmpty ?? false }

    /// Whether clients may get access tokens by the JWT bearer grant (RFC 7523).
    var takesAssertions: Bool { !trustedIssuers.isEmpty || !workloadPlatforms.isEmpty }

    /// Whether a client metadata document may be fetched from an https address.
    func acceptsDocuments(from address: WebAddress) -> Bool {
        let host = address.host.contains(":") ? "[\(address.host)]" : address.host
        let port = address.effectivePort
        return clientMetadataHosts.contains("\(host):\(port)") || port == "443" && clientMetadataHosts.contains(host)
    }

    struct Lifetimes: SchemaObject {
        let code, idToken, accessToken, refreshToken, session: TimeSpan
        let deviceCode, deviceInterval, pushedRequest: TimeSpan

        init(_ fields: inout Fields) {
            code = fields("code", .duration, default: .minutes(10), "An authorization code.")
            idToken = fields("idToken", .duration, default: .hours(1), "An ID token.")
            accessToken = fields("accessToken", .duration, default: .hours(1), "An access token.")
            refreshToken = fields("refreshToken", .duration, default: .days(30), "A grant, with all of its tokens.")
            session = fields("session", .duration, default: .hours(8), "A browser's session.")
            deviceCode = fields("deviceCode", .duration, default: .minutes(10), "A device code.")
            deviceInterval = fields(
                "deviceInterval", .duration, default: .seconds(5), "From one poll of a device to the next.")
            pushedRequest = fields(
                "pushedRequest", .duration, default: .seconds(90), "A pushed authorization request.")
        }
    }
}

/// The paths of an authorization server's endpoints, relative to the issuer's own path. They may begin with `../`.
struct EndpointPaths: SchemaObject {
    let authorization, token, keys, userInfo, introspection, revocation, endSession: String
    let pushedRequest, deviceAuthorization, device, registration: String

    var all: [String] {
        [
            authorization, token, keys, userInfo, introspection, revocation, endSession, pushedRequest,
            deviceAuthorization, device, registration,
        ]
    }

    /// Resolves an endpoint's path relative to an issuer's path: `../oauth2/token` at the issuer `/tenant/v2.0` is
    /// `/tenant/oauth2/token`.
    static func resolve(_ endpoint: String, below path: String) -> String {
        let (levels, rest) = split(endpoint)
        guard levels > 0 else { return path + endpoint }
        return path.split(separator: "/").dropLast(levels).map { "/\($0)" }.joined() + rest
    }

    /// Splits an endpoint's relative path into the number of `../` at its beginning and the path that follows them.
    private static func split(_ endpoint: String) -> (levels: Int, rest: String) {
        var (levels, rest) = (0, Substring(endpoint))
        while rest.hasPrefix("../") {
            levels += 1
            rest = rest.dropFirst(3)
        }
        return (levels, levels == 0 ? endpoint : "/\(rest)")
    }

    init(_ fields: inout Fields) {
        let rule = TextRule(
            about: "a path such as \"/authorize\", or \"../oauth2/authorize\" beside the issuer",
            pattern: "^(/|(\\.\\./)+)[A-Za-z0-9._~/-]+$"
        ) { text in
            let (_, rest) = EndpointPaths.split(text)
            return (text.hasPrefix("/") || text.hasPrefix("../")) && rest.utf8.count > 1 && text.utf8.count <= 1_024
                && !rest.split(separator: "/").contains("..")
                && text.utf8.allSatisfy { byte in
                    (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte) || "._~/-".utf8.contains(byte)
                }
        }
        authorization = fields("authorization", .text(rule), default: "/authorize", "Authorization endpoint.")
        token = fields("token", .text(rule), default: "/token", "Token endpoint.")
        keys = fields("keys", .text(rule), default: "/jwks", "Key set.")
        userInfo = fields("userInfo", .text(rule), default: "/userinfo", "Userinfo endpoint.")
        introspection = fields("introspection", .text(rule), default: "/introspect", "Introspection endpoint.")
        revocation = fields("revocation", .text(rule), default: "/revoke", "Revocation endpoint.")
        endSession = fields("endSession", .text(rule), default: "/logout", "End session endpoint.")
        pushedRequest = fields("pushedRequest", .text(rule), default: "/par", "Pushed authorization requests.")
        deviceAuthorization = fields(
            "deviceAuthorization", .text(rule), default: "/device_authorization", "Device authorization endpoint.")
        device = fields("device", .text(rule), default: "/device", "The page on which a person enters a device's code.")
        registration = fields(
            "registration", .text(rule), default: "/register", "The endpoint at which clients register.")
    }
}
