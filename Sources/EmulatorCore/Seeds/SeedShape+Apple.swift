extension Shape {
    static let apple = Shape.object([
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
        signingKeys(.keyID),
        .optional("teams", .list(of: .appleTeam, key: "id"), default: [], "Developer teams."),
    ])

    static func signingKeys(_ rule: TextRule = .identifier) -> Field {
        .optional(
            "signingKeys",
            .list(of: .object([.required("id", .text(rule), "The `kid`.")] + privateKeyFields), key: "id"),
            default: [], "RSA-2048 keys that sign tokens, oldest first; three are made by default.")
    }

    static let privateKeyFields: [Field] = [
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
}
