import EmulatorCore
import HTTPServer
import JOSE
import JSON

// A credential of microsoft.com: a code from the web flow, and nothing else.
// https://firebase.google.com/docs/auth/web/microsoft-oauth
//
// Quirks: tokens that an app has got itself are refused, because Firebase can't check for whom an access token is. The
// address is the user principal name (https://github.com/firebase/firebase-js-sdk/issues/9229), and never verified.
// There is no photo.

struct MicrosoftSource: ClientSource {
    static let id = "microsoft.com"
    static let title = "Microsoft"
    static let section = "microsoft"
    static let about = "Microsoft."
    static let keyOwner: KeyOwner? = KeyOwner("microsoft")

    private static let host = "login.microsoftonline.com"

    let isEnabled: Bool
    let clientID: String
    let clientSecret: String?
    /// The tenant in the path of Microsoft's sign-in. In production, the app sends it as a custom parameter.
    let tenant: String

    init(_ fields: inout Fields) {
        isEnabled = fields.enabled()
        clientID = fields("clientID", .text(.nonEmpty), "The application (client) ID.")
        clientSecret = fields.optional("clientSecret", .text(.nonEmpty), "The client secret.")
        tenant = fields(
            "tenant", .text(.identifier), default: "common",
            "The tenant in which people sign in: `common`, `organizations`, `consumers`, or a tenant's ID or domain. In production, the app says it with `setCustomParameters`."
        )
    }

    static func check(_ settings: LocatedJSON, _ references: inout SeedReferences) {
        let clients = KnownNames(references.root["microsoft"]?["clients"], "clientID")
        references.expect(settings["clientID"], among: clients, "client", in: " in microsoft.clients")
    }

    /// Returns the URL that Firebase's answers have in `federatedId` for a Microsoft user ID. The URL isn't documented.
    static func federatedID(_ rawID: String) -> String { "http://microsoft.com/\(rawID)" }

    /// Returns the request to Microsoft's authorization endpoint that begins a sign-in in the browser. Firebase adds
    /// the scopes that it needs to read the profile. These scopes aren't documented.
    func authorization(scopes: [String], _ seed: Seed) -> WebAuthorization {
        let own = ["openid", "email", "profile", "https://graph.microsoft.com/User.Read"]
        return WebAuthorization(
            host: MicrosoftSource.host, path: "/\(tenant)/oauth2/v2.0/authorize",
            fields: [
                ("client_id", clientID), ("response_type", "code"),
                ("scope", (own + scopes.filter { !own.contains($0) }).joined(separator: " ")),
            ])
    }

    func identity(of credential: Credential, in call: FirebaseCall) async throws(FirebaseError) -> FederatedIdentity {
        guard let code = credential["code"], let redirectURI = credential.redirectURI else {
            throw FirebaseProvider.noCredential(credential)
        }
        let secret = secret(in: call)
        let redeemed = try await CodeRedemption(
            host: MicrosoftSource.host, path: "/\(tenant)/oauth2/v2.0/token",
            phrase: "microsoft.com, OAuth2 redirect uri is:"
        ).tokens(code: code, redirectURI: redirectURI, client: clientID, secret: secret, in: call)
        let text = redeemed["access_token"]?.string ?? ""
        let answer = await call.exchange.fetch(
            "GET", "graph.microsoft.com", "/v1.0/me", headers: [(name: "Authorization", value: "Bearer \(text)")])
        guard let user = answer.document, let id = user["id"]?.string else {
            throw .invalidIdP(
                "Unsuccessful response from Microsoft: \(answer.text)",
                Diagnosis(
                    "Microsoft Graph answered GET /v1.0/me with status \(answer.status) and no user ID\(answer.becauseOfDiagnosis)"
                ))
        }
        var identity = FederatedIdentity(providerId: MicrosoftSource.id, rawId: id)
        identity.keep(redeemed)
        identity.email = user["userPrincipalName"]?.string
        identity.displayName = user["displayName"]?.string
        identity.firstName = user["givenName"]?.string
        identity.lastName = user["surname"]?.string
        identity.accessToken = text
        identity.idToken = redeemed["id_token"]?.string
        identity.rawUserInfo = user.text
        return identity
    }
}
