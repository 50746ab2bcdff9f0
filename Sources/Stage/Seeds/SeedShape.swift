import JOSE

extension Shape {
    /// A whole seed file: the format of the README's section "Seeds".
    package static let seed = Shape.object([
        .optional("$schema", .text(.any), "For editors; ignored."),
        .optional("accounts", .list(of: .account, key: "id"), default: [], "The people who can sign in."),
        .optional("apple", .apple, default: [:], "Sign in with Apple."),
        .optional("github", .github, default: [:], "GitHub."),
        .optional("google", .google, default: [:], "Google."),
        .optional("facebook", .facebook, default: [:], "Facebook."),
        .optional("firebase", .firebase, default: [:], "Firebase Authentication."),
        .optional("interaction", .interaction, default: [:], "What an authorization shows or answers."),
        .optional(
            "clock",
            .object([
                .optional("set", .nullable(.text(.timestamp)), default: .null, "The time at which the world begins."),
                .optional("freeze", .boolean, default: false, "Whether time stands still until it is moved."),
            ]), default: [:], "The world's time; the machine's own by default."),
        .optional(
            "randomSeed", .nullable(.text(.nonEmpty)), default: .null,
            "With a seed, codes, tokens and identifiers are the same in every run."),
    ])

    package static let interaction = Shape.object([
        .optional(
            "mode", .choice(["page", "auto"]), default: "page",
            "\"page\" shows the sign-in page; \"auto\" approves at once."),
        .optional(
            "account", .nullable(.text(.identifier)), default: .null,
            "Who signs in when the mode is \"auto\"; the first account by default."),
    ])

    private static let clientInteraction = Field.optional(
        "interaction", .nullable(interaction), default: .null, "Overrides the file's `interaction` for this client.")

    // MARK: - People

    package static let account = Shape.object([
        .required("id", .text(.identifier), "How this file and the control API name the person."),
        .optional(
            "name",
            .object([
                .optional("given", .text(.any), "Given name; the id, capitalized, by default."),
                .optional("family", .text(.any), default: "Example", "Family name."),
            ]), default: [:], "The person's name."),
        .optional("email", .text(.email), "The primary address; the id at example.com by default."),
        .optional("emailVerified", .boolean, default: true, "Whether the primary address is verified."),
        .optional("phoneNumber", .nullable(.text(.phoneNumber)), default: .null, "Phone number in E.164."),
        .optional(
            "apple",
            .object([
                .optional("shareEmail", .boolean, default: true, "Share the real address, or hide it behind a relay."),
                .optional(
                    "realUserStatus", .choice(["unsupported", "unknown", "likelyReal"]), default: "likelyReal",
                    "What a device says of a new user."),
            ]), default: [:], "The person at Apple."),
        .optional("github", .githubAccount, default: [:], "The person at GitHub."),
        .optional(
            "google",
            .object([
                .optional("sub", .text(.identifier), "Google's user ID; made from the id by default."),
                .optional(
                    "hostedDomain", .nullable(.text(.nonEmpty)), default: .null,
                    "The Google Workspace domain, `hd` in ID tokens."),
            ]), default: [:], "The person at Google."),
        .optional(
            "facebook",
            .object([.optional("id", .text(.identifier), "Facebook's user ID; made from the id by default.")]),
            default: [:], "The person at Facebook."),
    ])

    private static let githubAccount = Shape.object([
        .optional("login", .text(.identifier), "The user name; the id by default."),
        .optional("id", .integer(1...Int64(Int32.max)), "The numeric user ID; made from the id by default."),
        .optional("twoFactorAuthentication", .boolean, default: false, "Whether two-factor authentication is on."),
        .optional(
            "emails",
            .list(
                of: .object([
                    .required("email", .text(.email), "The address."),
                    .optional("primary", .boolean, default: false, "Whether it is the primary address."),
                    .optional("verified", .boolean, default: true, "Whether it is verified."),
                    .optional(
                        "visibility", .nullable(.choice(["public", "private"])), default: .null,
                        "Only the primary address has one."),
                ]), key: "email"), "Addresses; the person's own by default."),
        .optional("orgs", .set(of: .text(.identifier)), default: [], "Organizations, by login."),
    ])

    // MARK: - Apple

    private static let apple = Shape.object([
        .optional(
            "issuer", .choice(["provider", "request"]), default: "provider",
            "\"provider\": https://appleid.apple.com; \"request\": the address that the request used."),
        .optional(
            "booleanClaims", .choice(["boolean", "string"]), default: "boolean",
            "How email_verified and is_private_email are written; Apple sends both forms."),
        .optional(
            "accountDeletedEvent", .choice(["account-deleted", "account-delete"]), default: "account-deleted",
            "The event's name: as Apple's page has it, or as receivers report it."),
        .optional(
            "crossSiteFormPost", .boolean, default: true,
            "Move the browser to appleid.apple.com.localhost before a form post to the daemon's own site."),
        .optional("codeLifetime", .text(.duration), default: "5m", "How long an authorization code lasts."),
        .optional("idTokenLifetime", .text(.duration), default: "24h", "How long an ID token lasts."),
        .optional(
            "keyRotation", .nullable(.text(.duration)), default: .null,
            "How often the next published key takes over signing; never by default."),
        .optional(
            "signingKeys",
            .list(of: .object([.required("id", .text(.keyID), "The `kid`.")] + privateKeyFields), key: "id"),
            default: [],
            "RSA-2048 keys that sign ID tokens, oldest first; three are made at start by default."),
        .optional("teams", .list(of: .appleTeam, key: "id"), default: [], "Developer teams."),
    ])

    private static let privateKeyFields: [Field] = [
        .optional("privateKeyFile", .text(.nonEmpty), "A PKCS#8 PEM file, relative to this file."),
        .optional("privateKey", .text(.nonEmpty), "The PEM text itself, instead of a file."),
    ]

    private static let appleTeam = Shape.object([
        .required("id", .text(.teamID), "The Team ID."),
        .optional(
            "keys",
            .list(
                of: .object([
                    .required("id", .text(.teamID), "The key ID."),
                    .optional("publicKeyFile", .text(.nonEmpty), "A P-256 SPKI PEM file, relative to this file."),
                    .optional("publicKey", .text(.nonEmpty), "The PEM text itself, instead of a file."),
                ]), key: "id"), default: [], "Keys that sign client secrets."),
        .optional(
            "apps",
            .list(
                of: .object([
                    .required("bundleID", .text(.identifier), "The App ID."),
                    .optional(
                        "primaryApp", .nullable(.text(.identifier)), default: .null,
                        "The app that leads this one's group; itself by default."),
                    .optional(
                        "transfer",
                        .nullable(
                            .object([
                                .required("fromTeam", .text(.teamID), "The team that had the app before."),
                                .required("at", .text(.timestamp), "When the app changed hands."),
                            ])), default: .null, "Set when the app came from another team."),
                    clientInteraction,
                ]), key: "bundleID"), default: [], "App IDs."),
        .optional(
            "services",
            .list(
                of: .object([
                    .required("id", .text(.identifier), "The Services ID: a web client's client_id."),
                    .required("primaryApp", .text(.identifier), "The App ID that it is grouped with."),
                    .optional("returnURLs", .set(of: .text(.url)), default: [], "Registered return URLs."),
                    .optional(
                        "allowInsecureReturnURLs", .boolean, default: false,
                        "Accept return URLs with http, localhost or an IP address, which Apple refuses."),
                    clientInteraction,
                ]), key: "id"), default: [], "Services IDs."),
        .optional(
            "relay",
            .object([
                .optional(
                    "senders", .set(of: .text(.email)), default: [], "Addresses that may write to relay addresses."),
                .optional("domains", .set(of: .text(.nonEmpty)), default: [], "Domains that may."),
            ]), default: [:], "Private e-mail relay."),
        .optional(
            "notificationsURL", .nullable(.text(.url)), default: .null,
            "Where server-to-server notifications are posted."),
    ])

    // MARK: - The other providers

    private static let callbackURLs = Shape.set(of: .text(.url))

    private static let github = Shape.object([
        .optional(
            "oauthApps",
            .list(
                of: .object([
                    .required("clientID", .text(.nonEmpty), "The client ID."),
                    .optional("name", .text(.nonEmpty), default: "Example", "What the consent page calls the app."),
                    .optional(
                        "clientSecret", .text(.nonEmpty), default: "github-secret-for-tests", "The client secret."),
                    .optional("callbackURLs", callbackURLs, default: [], "Registered callback URLs."),
                    .optional("deviceFlow", .boolean, default: false, "Whether the device flow is on."),
                ]), key: "clientID"), default: [], "OAuth apps."),
        .optional(
            "orgs",
            .list(
                of: .object([
                    .required("login", .text(.identifier), "The organization's login."),
                    .optional("id", .integer(1...Int64(Int32.max)), "The numeric ID; made from the login by default."),
                ]), key: "login"), default: [], "Organizations."),
    ])

    private static let google = Shape.object([
        .optional(
            "clients",
            .list(
                of: .object([
                    .required("clientID", .text(.nonEmpty), "The client ID."),
                    .optional(
                        "clientSecret", .text(.nonEmpty), default: "google-secret-for-tests", "The client secret."),
                    .optional("redirectURIs", callbackURLs, default: [], "Authorized redirect URIs."),
                ]), key: "clientID"), default: [], "OAuth clients.")
    ])

    private static let facebook = Shape.object([
        .optional(
            "apps",
            .list(
                of: .object([
                    .required("appID", .text(.nonEmpty), "The app ID."),
                    .optional("appSecret", .text(.nonEmpty), default: "facebook-secret-for-tests", "The app secret."),
                    .optional("redirectURIs", callbackURLs, default: [], "Valid OAuth redirect URIs."),
                ]), key: "appID"), default: [], "Apps.")
    ])

    private static let enabled = Field.optional(
        "enabled", .boolean, default: true, "Whether people may sign in with it.")

    private static let firebase = Shape.object([
        .optional("projects", .list(of: .firebaseProject, key: "id"), default: [], "Projects.")
    ])

    private static let firebaseProject = Shape.object([
        .required("id", .text(.identifier), "The project ID."),
        .optional("apiKeys", .set(of: .text(.nonEmpty)), default: [], "API keys that name the project."),
        .optional("oneAccountPerEmail", .boolean, default: true, "Whether an address belongs to one user only."),
        .optional("emailEnumerationProtection", .boolean, default: true, "Whether answers hide which addresses exist."),
        .optional("providers", .firebaseProviders, default: [:], "Sign-in methods."),
        .optional(
            "acceptFakeCredentials", .boolean, default: false, "Take the official emulator's unsigned credentials, too."
        ),
        .optional(
            "idTokenSignature", .choice(["auto", "RS256", "none"]), default: "auto",
            "How Firebase ID tokens are signed."),
        .optional(
            "mfa",
            .object([
                .optional(
                    "state", .choice(["ENABLED", "DISABLED", "MANDATORY"]), default: "DISABLED", "Second factors."),
                .optional("providers", .set(of: .choice(["phone", "totp"])), default: [], "Kinds of second factor."),
            ]), default: [:], "Multi-factor authentication."),
        .optional(
            "users",
            .list(
                of: .object([
                    .required("localId", .text(.nonEmpty), "The user ID."),
                    .optional("email", .text(.email), "The address."),
                    .optional("emailVerified", .boolean, default: false, "Whether the address is verified."),
                    .optional("password", .text(.nonEmpty), "The password."),
                    .optional("displayName", .text(.any), "The name."),
                    .optional("phoneNumber", .text(.phoneNumber), "The phone number."),
                    .optional("disabled", .boolean, default: false, "Whether the user may not sign in."),
                ]), key: "localId"), default: [], "Users that exist from the start."),
    ])

    private static let firebaseProviders = Shape.object([
        .optional("password", .object([enabled]), "E-mail address and password."),
        .optional("anonymous", .object([enabled]), "Anonymous users."),
        .optional(
            "phone",
            .object([
                enabled,
                .optional(
                    "testNumbers", .map(of: .text(.nonEmpty)), default: [:],
                    "Phone numbers and the code that each takes."),
            ]), "Phone numbers."),
        .optional(
            "apple.com",
            .object(
                [
                    enabled,
                    .optional(
                        "bundleIDs", .set(of: .text(.identifier)), default: [], "App IDs whose ID tokens are taken."),
                    .optional("servicesID", .text(.identifier), "The Services ID."),
                    .optional("teamID", .text(.teamID), "The Team ID."),
                    .optional("keyID", .text(.teamID), "The key ID."),
                ] + privateKeyFields), "Sign in with Apple."),
        .optional(
            "github.com",
            .object([
                enabled, .required("clientID", .text(.nonEmpty), "The client ID."),
                .optional("clientSecret", .text(.nonEmpty), "The client secret."),
            ]), "GitHub."),
        .optional(
            "google.com",
            .object([
                enabled,
                .optional(
                    "clientIDs", .set(of: .text(.nonEmpty)), default: [], "Client IDs whose ID tokens are taken."),
            ]), "Google."),
        .optional(
            "facebook.com",
            .object([
                enabled, .required("appID", .text(.nonEmpty), "The app ID."),
                .optional("appSecret", .text(.nonEmpty), "The app secret."),
            ]), "Facebook."),
    ])
}
