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
        .optional(
            "outcomes", .sequence(of: Outcome.shape(providers: KeyOwner.providers)), default: [],
            "What the first authorizations do, without a page."),
        .optional("faults", .sequence(of: Fault.shape), default: [], "What goes wrong from the start."),
    ])

    package static let interaction = Shape.object(
        [
            .optional(
                "mode", .choice(["page", "auto"]), default: "page",
                "\"page\" shows the sign-in page; \"auto\" answers at once."),
            .optional(
                "account", .nullable(.text(.identifier)), default: .null,
                "Who signs in when the mode is \"auto\"; the first account by default."),
            .optional(
                "outcome", .choice(Outcome.Kind.allCases.map(\.rawValue)), default: "approve",
                "What mode \"auto\" answers."),
        ] + Outcome.details)

    static let clientInteraction = Field.optional(
        "interaction", .nullable(interaction), default: .null, "Overrides the file's `interaction` for this client.")

    // MARK: - People

    package static let account = Shape.object([
        .required("id", .text(.identifier), "How this file and the control API name the person."),
        .optional(
            "name",
            .object([
                .optional("given", .text(.name), "Given name; the id, capitalized, by default."),
                .optional("family", .text(.name), default: "Example", "Family name."),
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
}
