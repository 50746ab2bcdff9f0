import JSON

extension ExchangeDocument {
    /// The schema of an exchange.
    static let schema = Schema.members(
        "Exchange",
        [
            .required("id", .string, "By which answers, diagnoses and the log name it."),
            .required("flow", .string, "The first exchange of the sign-in that it belongs to."),
            .optional("parent", .string, "The exchange for which the daemon sent itself this one, or \"scenario\"."),
            .required("time", .time, "The world's time."),
            .required("durationMilliseconds", .number(0...1e15), "How long the answer took."),
            .optional("host", .string, "The provider's host; without it, the daemon's own address."),
            .required("path", .string, "The path on that host."), .required("method", .string, "The method."),
            .optional("client", .string, "Whose request it is, where that is known."),
            .optional("mail", mailSchema, "For mail: its envelope."),
            .required("status", .integer(0...999), "The answer's status."),
            .optional("diagnosis", .string, "Why it was refused."),
            .optional("note", .string, "What surprises in an answer that refuses nothing."),
            .optional("fault", .string, "The ordered fault that happened here."),
            .required("request", requestSchema, "What was asked."),
            .required("response", responseSchema, "What was answered."),
            .optional("tokens", .sequence(of: tokenSchema), "The JSON Web Tokens in it."),
            .optional("world", .string, "Its world, where several worlds are asked for."),
            .optional("gone", .boolean, "Whether that world is gone, or was reset since."),
        ])

    private static let mailSchema = Schema.members([
        .optional("from", .string, "Who sends it."), .required("to", .strings(), "Who gets it."),
        .optional("user", .string, "Who signed in."),
        .required("tls", .boolean, "Whether the connection is encrypted."),
        .required("messages", .strings(), "What lies in the inbox because of it."),
    ])

    private static let headersSchema = Schema.sequence(
        of: .members([.required("name", .string, "Its name."), .required("value", .string, "Its value.")]))

    private static let bodyFields: [Schema.Field] = [
        .optional("bodySize", .count, "How many bytes it has, where not all are shown."),
        .optional("bodyShown", .count, "How many of them are shown."),
        .optional("body", .string, "The body, as text."),
        .optional("bodyBase64", .string, "The body, where it isn't UTF-8."),
    ]

    private static let requestSchema = Schema.members(
        [
            .required("target", .string, "Path and query, as they were sent."),
            .required("headers", headersSchema, "Its headers."),
        ] + bodyFields)

    private static let responseSchema = Schema.members(
        [
            .required("headers", headersSchema, "Its headers."),
            .optional("disconnected", .choice(["beforeHeaders", "midBody"]), "Where the connection was closed."),
        ] + bodyFields)

    private static let tokenSchema = Schema.members([
        .required("place", .string, "Where it is."), .required("header", .map(of: .any), "What its header says."),
        .required("claims", .map(of: .any), "What it claims."),
        .required("signed", .boolean, "Whether it has a signature."),
    ])

    static let listSchema = Schema.members(
        "Exchanges",
        [
            .required("requests", .sequence(of: schema), "The exchanges, the oldest first."),
            .optional("last", .string, "The ID of the last one here."),
            .optional("more", .boolean, "Whether there are more: ask for those after `last`."),
            .optional("dropped", .count, "How many exchanges of the world had to make room."),
        ])

    /// The schema of a HAR file: <http://www.softwareishard.com/blog/har-12-spec/>
    static let harSchema = Schema.members(
        "HTTPArchive",
        [
            .required(
                "log",
                .members([
                    .required("version", .choice(["1.2"]), "The format's version."),
                    .required("creator", .map(of: .string), "Who wrote it."),
                    .optional("pages", .sequence(of: .any), "A page for each world, where several are asked for."),
                    .optional("_mail", .sequence(of: schema), "Mail, which isn't HTTP's."),
                    .required("entries", .sequence(of: .any), "The exchanges."),
                    .optional("comment", .string, "How to go on, if there are more."),
                ]), "The archive: HAR 1.2.")
        ])
}
