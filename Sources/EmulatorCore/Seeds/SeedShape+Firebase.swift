extension Shape {
    static let callbackURLs = Shape.set(of: .text(.url))

    static let google = Shape.object([
        signingKeys(),
        .optional("codeLifetime", .text(.duration), default: "10m", "How long an authorization code lasts."),
        .optional(
            "clients",
            .list(
                of: .object([
                    .required("clientID", .text(.nonEmpty), "The client ID."),
                    .optional(
                        "clientSecret", .text(.nonEmpty), default: "google-secret-for-tests", "The client secret."),
                    .optional("name", .text(.nonEmpty), default: "Example", "What the consent page calls the client."),
                    .optional("redirectURIs", callbackURLs, default: [], "Authorized redirect URIs."),
                    clientInteraction,
                ]), key: "clientID"), default: [], "OAuth clients."),
    ])

    static let facebook = Shape.object([
        signingKeys(),
        .optional(
            "apps",
            .list(
                of: .object([
                    .required("appID", .text(.nonEmpty), "The app ID."),
                    .optional("appSecret", .text(.nonEmpty), default: "facebook-secret-for-tests", "The app secret."),
                    .optional("name", .text(.nonEmpty), default: "Example", "What the consent page calls the app."),
                    .optional("redirectURIs", callbackURLs, default: [], "Valid OAuth redirect URIs."),
                    clientInteraction,
                ]), key: "appID"), default: [], "Apps."),
    ])

    private static let enabled = Field.optional(
        "enabled", .boolean, default: true, "Whether people may sign in with it.")

    static let firebase = Shape.object([
        signingKeys(),
        .optional("idTokenLifetime", .text(.duration), default: "1h", "How long an ID token lasts."),
        .optional(
            "recentLoginWindow", .text(.duration), default: "5m",
            "How recent a sign-in must be for a change of password or address, and for deletion."),
        .optional(
            "pendingTokenLifetime", .text(.duration), default: "10m",
            "How long the credential of a refused sign-in or link may be used again."),
        .optional("projects", .list(of: .firebaseProject, key: "id"), default: [], "Projects."),
    ])

    private static let firebaseProject = Shape.object([
        .required("id", .text(.identifier), "The project ID."),
        .optional("number", .text(.nonEmpty), "The project number; made from the ID by default."),
        .optional("apiKeys", .set(of: .text(.nonEmpty)), default: [], "API keys that name the project."),
        .optional(
            "authorizedDomains", .set(of: .text(.nonEmpty)), default: ["localhost"],
            "Domains of continue URLs, beside the project's own."),
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
                    .optional("photoUrl", .text(.any), "The picture's address."),
                    .optional("phoneNumber", .text(.phoneNumber), "The phone number."),
                    .optional("disabled", .boolean, default: false, "Whether the user may not sign in."),
                    .optional("customClaims", .nullable(.text(.any)), default: .null, "A JSON object, as a text."),
                    .optional(
                        "links", .list(of: .firebaseLink, key: "providerId"), default: [], "Identities at providers."),
                    .optional(
                        "factors", .list(of: .firebaseFactor, key: "id"), default: [], "Second factors, enrolled."),
                ]), key: "localId"), default: [], "Users that exist from the start."),
    ])

    private static let firebaseLink = Shape.object([
        .required("providerId", .text(.nonEmpty), "Such as github.com."),
        .required("rawId", .text(.nonEmpty), "The provider's identifier of the person."),
        .optional("email", .text(.email), "The address at the provider; the user's by default."),
        .optional("displayName", .text(.any), "The name at the provider."),
        .optional("photoUrl", .text(.any), "The picture's address."),
        .optional("screenName", .text(.any), "The user name at the provider."),
    ])

    private static let firebaseFactor = Shape.object([
        .required("id", .text(.nonEmpty), "The enrolment ID."),
        .optional("displayName", .text(.any), "What the user calls it."),
        .optional("phoneNumber", .text(.phoneNumber), "The number, for a factor by SMS."),
        .optional("totpSecret", .text(.base32), "The secret in base32, for an authenticator app."),
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
                    .optional(
                        "revokeNativeCodes", .boolean, default: true,
                        "Whether revokeToken takes codes from an app on a device though a Services ID is set; reports say "
                            + "that production doesn't."),
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
