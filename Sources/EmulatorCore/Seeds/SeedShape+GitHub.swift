extension Shape {
    private static let count = Shape.integer(0...Int64(Int32.max))
    private static let identity = Shape.integer(1...Int64(Int32.max))
    private static let nullableText = Shape.nullable(.text(.any))

    static let githubAccount = Shape.object([
        .optional("login", .text(.identifier), "The user name; the id by default."),
        .optional("id", identity, "The numeric user ID; made from the id by default."),
        .optional("name", nullableText, "The name on the profile; the person's own by default."),
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
                        "Only the primary address has one. A public one is the profile's address."),
                ]), key: "email"), "Addresses; the person's own by default."),
        .optional("orgs", .set(of: .text(.identifier)), default: [], "Organizations, by login."),
        .optional("company", nullableText, default: .null, "Company, on the profile."),
        .optional("blog", nullableText, default: .null, "Website, on the profile."),
        .optional("location", nullableText, default: .null, "Place, on the profile."),
        .optional("bio", nullableText, default: .null, "A few words, on the profile."),
        .optional("hireable", .nullable(.boolean), default: .null, "Whether the profile says available for hire."),
        .optional("twitterUsername", nullableText, default: .null, "Name at Twitter, on the profile."),
        .optional("siteAdmin", .boolean, default: false, "Whether the person works at GitHub."),
        .optional("followers", count, default: 0, "How many follow the person."),
        .optional("following", count, default: 0, "How many the person follows."),
        .optional("publicRepos", count, default: 0, "Public repositories."),
        .optional("privateRepos", count, default: 0, "Private repositories; only the person sees how many."),
        .optional("publicGists", count, default: 0, "Public gists."),
        .optional("privateGists", count, default: 0, "Secret gists; only the person sees how many."),
        .optional("plan", .choice(["free", "pro"]), default: "free", "The plan; only the person sees it."),
        .optional("createdAt", .text(.timestamp), default: "2020-01-01T00:00:00Z", "When the account was made."),
        .optional(
            "updatedAt", .text(.timestamp), default: "2026-01-01T00:00:00Z", "When the profile last changed."),
    ])

    static let github = Shape.object([
        .optional(
            "callbackIssuer", .boolean, default: true,
            "Add `iss` (RFC 9207) to callbacks, as github.com has done since April 2026."),
        .optional(
            "redirectMismatch", .choice(["page", "redirect"]), default: "page",
            "What a redirect_uri that doesn't match brings: the page that github.com shows, or the redirect that its "
                + "documentation describes."),
        .optional(
            "devicePolling", .choice(["tolerant", "strict"]), default: "tolerant",
            "Whether a poll may come up to a second early."),
        .optional(
            "deviceErrorStatus", .choice(["200", "400"]), default: "200",
            "The HTTP status of the device flow's errors; reports differ."),
        .optional(
            "tokenChecksum", .choice(["valid", "invalid"]), default: "valid",
            "\"invalid\" keeps secret scanners from taking test tokens for real ones."),
        .optional("codeLifetime", .text(.duration), default: "10m", "How long an authorization code lasts."),
        .optional("deviceCodeLifetime", .text(.duration), default: "15m", "How long a device code lasts."),
        .optional("accessTokenLifetime", .text(.duration), default: "8h", "How long an expiring token lasts."),
        .optional(
            "refreshTokenLifetime", .text(.duration), default: "184d", "How long a refresh token lasts without use."),
        .optional(
            "rateLimit", .integer(1...1_000_000_000), default: 5000, "Requests that a person may make in an hour."),
        .optional(
            "anonymousRateLimit", .integer(1...1_000_000_000), default: 60,
            "Requests an hour without a token."),
        .optional("oauthApps", .list(of: .githubOAuthApp, key: "clientID"), default: [], "OAuth apps."),
        .optional("githubApps", .list(of: .githubApp, key: "clientID"), default: [], "GitHub Apps."),
        .optional("orgs", .list(of: .githubOrganization, key: "login"), default: [], "Organizations."),
    ])

    private static func githubApplication(wildcard: Bool, expiring: Bool) -> [Field] {
        [
            .required("clientID", .text(.nonEmpty), "The client ID."),
            .optional("name", .text(.nonEmpty), default: "Example", "What the consent page calls the app."),
            .optional("clientSecret", .text(.nonEmpty), default: "github-secret-for-tests", "The client secret."),
            .optional("url", .text(.url), default: "https://example.com", "The app's home page."),
            .optional("description", .nullable(.text(.any)), default: .null, "What the consent page says of it."),
            .optional(
                "callbackURLs", .set(of: .text(.callbackURL)), default: [], "Registered callback URLs, at most ten."),
            .optional(
                "wildcardMatching", .boolean, default: .bool(wildcard),
                "Whether subdomains and subdirectories of callback URLs match, too."),
            .optional(
                "exactCallbackURLs", .set(of: .text(.callbackURL)), default: [],
                "Further callback URLs, for which wildcard matching is off."),
            .optional("deviceFlow", .boolean, default: false, "Whether the device flow is on."),
            .optional(
                "expiringTokens", .boolean, default: .bool(expiring),
                "Whether tokens expire and come with a refresh token."),
            .optional("suspended", .boolean, default: false, "Whether GitHub has suspended the app."),
            clientInteraction,
        ]
    }

    private static let githubOAuthApp = Shape.object(githubApplication(wildcard: true, expiring: false))

    private static let githubApp = Shape.object(
        githubApplication(wildcard: false, expiring: true) + [
            .optional("id", identity, "The numeric app ID; made from the client ID by default."),
            .optional("slug", .text(.identifier), "The name in addresses; made from the name by default."),
            .optional(
                "permissions", .map(of: .choice(["read", "write", "admin"])), default: [:],
                "Permissions, such as {\"emails\": \"read\", \"members\": \"read\"}."),
            .optional(
                "installations", .set(of: .text(.identifier)), default: [],
                "Where it is installed: logins of people and organizations."),
            .optional(
                "webhookURL", .nullable(.text(.url)), default: .null,
                "Where `github_app_authorization` is posted when a person revokes."),
            .optional(
                "webhookSecret", .nullable(.text(.nonEmpty)), default: .null, "The secret that signs webhooks."),
        ])

    private static let githubOrganization = Shape.object([
        .required("login", .text(.identifier), "The organization's login."),
        .optional("id", identity, "The numeric ID; made from the login by default."),
        .optional("name", nullableText, default: .null, "The display name."),
        .optional("description", nullableText, default: .null, "What it is."),
        .optional("company", nullableText, default: .null, "Company."),
        .optional("blog", nullableText, default: .null, "Website."),
        .optional("location", nullableText, default: .null, "Place."),
        .optional("email", .nullable(.text(.email)), default: .null, "Public address."),
        .optional("twitterUsername", nullableText, default: .null, "Name at Twitter."),
        .optional("isVerified", .boolean, default: false, "Whether its domain is verified."),
        .optional("publicRepos", count, default: 0, "Public repositories."),
        .optional("createdAt", .text(.timestamp), default: "2020-01-01T00:00:00Z", "When it was made."),
        .optional("updatedAt", .text(.timestamp), default: "2026-01-01T00:00:00Z", "When it last changed."),
        .optional("owners", .set(of: .text(.identifier)), default: [], "Members who are owners, by account."),
        .optional(
            "publicMembers", .set(of: .text(.identifier)), default: [],
            "Members who show their membership, by account."),
        .optional(
            "pendingMembers", .set(of: .text(.identifier)), default: [],
            "Members who haven't accepted their invitation yet, by account."),
        .optional(
            "oauthAppRestrictions", .boolean, default: false, "Whether OAuth apps need the organization's approval."),
        .optional("approvedApps", .set(of: .text(.nonEmpty)), default: [], "OAuth apps it approved, by client ID."),
        .optional(
            "samlEnforced", .boolean, default: false, "Whether tokens must be authorized for SAML single sign-on."),
        .optional(
            "teams",
            .list(
                of: .object([
                    .required("slug", .text(.identifier), "The team's name in addresses."),
                    .optional("id", identity, "The numeric ID; made from the slug by default."),
                    .optional("name", .text(.nonEmpty), "The display name; the slug by default."),
                    .optional("description", nullableText, default: .null, "What it is."),
                    .optional("privacy", .choice(["closed", "secret"]), default: "closed", "Who sees it."),
                    .optional("members", .set(of: .text(.identifier)), default: [], "Members, by account."),
                    .optional("maintainers", .set(of: .text(.identifier)), default: [], "Maintainers, by account."),
                ]), key: "slug"), default: [], "Teams."),
    ])
}
