import HTTPServer
import JOSE
import JSON
import EmulatorCore
import Time

// A credential of apple.com: an ID token with the raw nonce, or a code from the web flow.
// https://firebase.google.com/docs/auth/ios/apple
//
// Quirks: an access_token that is present but empty is an "Invalid OAuth response". The name is sent by the client, the
// first time only; there is never a photo.

struct AppleSource: KnownSource {
    static let id = "apple.com"
    static let title = "Apple"
    static let about = "Sign in with Apple."
    static let keyOwner: KeyOwner? = KeyOwner("apple")
    static let host = "appleid.apple.com"

    private static let identifier = TextRule.upperCase(
        10, about: "ten upper-case letters and digits, as Apple's Team IDs and key IDs are")

    let isEnabled: Bool
    let bundleIDs: [String]
    let servicesID: String?
    let teamID: String?
    let keyID: String?
    let revokesNativeCodes: Bool
    /// The private key that signs client secrets for Apple, as PEM.
    let privateKey: String?

    init(_ fields: inout Fields) {
        isEnabled = fields.enabled()
        bundleIDs = fields("bundleIDs", .set(of: .text(.identifier)), default: [], "App IDs whose ID tokens are taken.")
        servicesID = fields.optional("servicesID", .text(.identifier), "The Services ID.")
        teamID = fields.optional("teamID", .text(AppleSource.identifier), "The Team ID.")
        keyID = fields.optional("keyID", .text(AppleSource.identifier), "The key ID.")
        revokesNativeCodes = fields(
            "revokeNativeCodes", .boolean, default: true,
            "Whether revokeToken takes codes from an app on a device though a Services ID is set; reports say "
                + "that production doesn't.")
        privateKey = fields.privateKey()
    }

    var config: JSONObject {
        var config = JSONObject(["clientId": servicesID])
        var apple = JSONObject()
        if let teamID, let keyID {
            apple["codeFlowConfig"] = ["teamId": .string(teamID), "keyId": .string(keyID)]
        }
        if !bundleIDs.isEmpty { apple["bundleIds"] = .array(bundleIDs.map { .string($0) }) }
        if !apple.isEmpty { config["appleSignInConfig"] = .object(apple) }
        return config
    }

    static func seed(of config: JSONObject) -> JSONObject {
        let apple = config["appleSignInConfig"]
        let code = apple?["codeFlowConfig"]
        return JSONObject([
            "servicesID": config["clientId"], "bundleIDs": apple?["bundleIds"], "teamID": code?["teamId"],
            "keyID": code?["keyId"], "privateKey": code?["privateKey"],
        ])
    }

    static func check(_ settings: LocatedJSON, _ references: inout SeedReferences) {
        let list = references.root["apple"]?["teams"]
        let teams = list?.items ?? []
        let apps = KnownNames(teams.flatMap { KnownNames($0["apps"], "bundleID").all })
        let services = KnownNames(teams.flatMap { KnownNames($0["services"], "id").all })
        references.expect(settings["teamID"], among: KnownNames(list, "id"), "team", in: " in apple.teams")
        for bundleID in settings["bundleIDs"]?.items ?? [] {
            references.expect(bundleID, among: apps, "app", in: " in any of apple.teams")
        }
        references.expect(settings["servicesID"], among: services, "service", in: " in any of apple.teams")
        if let team = teams.first(where: { $0["id"]?.string == settings["teamID"]?.string }) {
            let place = " in team \"\(team["id"]?.string ?? "")\""
            references.expect(settings["keyID"], among: KnownNames(team["keys"], "id"), "key", in: place)
        }
    }

    /// Returns the URL that Firebase's answers have in `federatedId` for an Apple user ID. Only older documentation
    /// shows this URL.
    static func federatedID(_ rawID: String) -> String { "https://appleid.apple.com/\(rawID)" }

    static func isTrusted(email: String?, isVerified: Bool) -> Bool { true }

    func authorization(scopes: [String], _ seed: Seed) -> WebAuthorization {
        let asked = scopes.isEmpty ? ["email", "name"] : scopes
        return WebAuthorization(
            host: AppleSource.host, path: "/auth/authorize",
            fields: [
                ("client_id", servicesID ?? ""), ("response_type", "code"), ("response_mode", "form_post"),
                ("scope", asked.joined(separator: " ")),
            ])
    }

    func identity(of credential: Credential, in call: FirebaseCall) async throws -> FederatedIdentity {
        if credential.fields["access_token"] == "" {
            throw FirebaseError.invalidIdP(
                "Invalid OAuth response from apple.com",
                Diagnosis("access_token is empty: leave it out, or send Apple's authorization code as access_token"))
        }
        var text = credential["id_token"]
        var answer = JSONObject()
        if let code = credential["code"], let redirectURI = credential.redirectURI {
            answer = try await tokens(code: code, redirectURI: redirectURI, in: call)
            text = answer["id_token"]?.string
        }
        guard let text else { throw FirebaseProvider.noCredential(credential) }
        let audiences = (servicesID.map { [$0] } ?? []) + bundleIDs
        let rule = IDTokenRule(
            keys: (host: AppleSource.host, path: "/auth/keys"), issuers: AppleSource.issuers(call),
            audiences: audiences)
        let token = try await call.verify(text, rule)
        let subject = token.claims["sub"]?.string ?? ""
        var identity = FederatedIdentity(providerId: "apple.com", rawId: subject)
        identity.keep(answer)
        // In the web flow the nonce never left the server.
        if credential["code"] == nil || credential.redirectURI == nil {
            identity.nonce = try call.checkNonce(
                of: token, from: AppleSource.self, subject: subject, rawNonce: credential["nonce"])
        }
        identity.email = token.claims["email"]?.string
        // Apple writes its Booleans as true or as "true".
        let verified = token.claims["email_verified"]
        identity.isEmailVerified = verified?.bool ?? (verified?.string == "true")
        if let name = credential.name {
            identity.firstName = name.given.isEmpty ? nil : name.given
            identity.lastName = name.family.isEmpty ? nil : name.family
            let full = [name.given, name.family].filter { !$0.isEmpty }.joined(separator: " ")
            identity.displayName = full.isEmpty ? nil : full
        }
        identity.idToken = text
        identity.accessToken = credential["access_token"]
        identity.rawUserInfo = JSONValue.object(token.claims).text
        return identity
    }

    static func issuers(_ call: FirebaseCall) -> [String] {
        let own = "https://\(AppleSource.host)"
        let seed = call.exchange.world.seed
        guard seed.section(named: "apple")?.issuerFollowsRequest ?? false else { return [own] }
        let address = call.exchange.address
        return [own, address.base(of: AppleSource.host), address.subdomainBase(of: AppleSource.host)]
    }

    // MARK: - The token endpoint

    /// Redeems an authorization code at Apple's token endpoint, as Firebase's servers do, with a client secret made
    /// from the project's private key.
    func tokens(
        code: String, redirectURI: String?, client: String? = nil,
        phrase: String = "https://appleid.apple.com, OAuth2 redirect uri is:", in call: FirebaseCall
    ) async throws(FirebaseError) -> JSONObject {
        let clientID = client ?? servicesID ?? bundleIDs.first ?? ""
        let secret = try clientSecret(clientID, call)
        return try await CodeRedemption(host: AppleSource.host, path: "/auth/token", phrase: phrase)
            .tokens(code: code, redirectURI: redirectURI, client: clientID, secret: secret, in: call)
    }

    /// Makes a client secret for Apple, a JWT signed with the project's private key:
    /// <https://developer.apple.com/documentation/accountorganizationaldatasharing/creating-a-client-secret>
    func clientSecret(_ clientID: String, _ call: FirebaseCall) throws(FirebaseError) -> String {
        guard let teamID, let keyID, let privateKey, let key = call.exchange.world.seed.keys[privateKey]
        else {
            throw .invalidIdP(
                "Error getting access token from Apple. OAuth2 redirect uri is \(call.project.handler)",
                Diagnosis(
                    "a client secret for Apple needs teamID, keyID and privateKeyFile: add them to the project's apple.com provider in the seed"
                ))
        }
        let now = call.exchange.world.now
        let claims = JSONObject([
            "iss": teamID, "iat": JSONValue.numericDate(now), "exp": JSONValue.numericDate(now + .minutes(5)),
            "aud": "https://\(AppleSource.host)", "sub": clientID,
        ])
        do {
            return try JWS.mint(
                header: JSONObject(["alg": "ES256", "kid": keyID]), claims: claims, key: key,
                algorithm: .es256)
        } catch {
            throw FirebaseError("INTERNAL_ERROR", status: 500, because: error.description)
        }
    }
}
