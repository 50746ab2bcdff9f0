import JSON

/// An answer that a call of the control API may give.
package struct CallAnswer: Sendable {
    package enum Content: Sendable {
        case json(Schema)
        /// A file, a page or a stream of events.
        case other(type: String)
    }

    package let status: Int
    /// A sentence that says when the answer is given.
    package let about: String
    /// The content types that the answer may have; none if it has no body.
    package let contents: [Content]
    /// The codes that a refusal's error may have.
    package let codes: [String]

    private init(_ status: Int, _ about: String, _ contents: [Content] = [], codes: [String] = []) {
        self.status = status
        self.about = about
        self.contents = contents
        self.codes = codes
    }

    package static func json(_ status: Int, _ about: String, _ schema: Schema) -> CallAnswer {
        CallAnswer(status, about, [.json(schema)])
    }

    /// Returns an answer with the status 200 and JSON.
    package static func json(_ about: String, _ schema: Schema) -> CallAnswer { .json(200, about, schema) }

    /// Returns an answer without a body.
    package static func empty(_ about: String) -> CallAnswer { CallAnswer(204, about) }

    /// Returns an answer of these types: files, pages, or streams of events.
    package static func other(_ about: String, _ types: String...) -> CallAnswer {
        CallAnswer(200, about, types.map { .other(type: $0) })
    }

    /// Returns a refusal with an error's code.
    package static func refusal(_ status: Int, _ code: String, _ about: String) -> CallAnswer {
        CallAnswer(status, about, codes: [code])
    }

    static let unsuitableQuery = [
        refusal(400, "invalidQuery", "The query has a parameter that isn't known, or one that can't be used.")
    ]
    static let unsuitableBody = [
        refusal(400, "notJSON", "The body can't be read as JSON."),
        refusal(400, "invalidBody", "The body doesn't suit its schema, or contradicts itself."),
    ]

    /// The schema of all refusals.
    package static let error = Schema.members(
        "Error",
        [
            .required(
                "error",
                .members([
                    .required("code", .string, "What kind of error it is, for programs."),
                    .required("message", .string, "What is wrong, for people."),
                    .optional("path", .string, "Where in the body or the query, such as `$.times`."),
                    .optional(
                        "faults",
                        .sequence(
                            of: .members([
                                .required("path", .string, "Where."),
                                .required("message", .string, "What is wrong there."),
                            ])), "Everything that is wrong with the body, twenty at most."),
                    .optional("more", .string, "How many faults aren't listed, in words."),
                ]), "Why the call is refused.")
        ])

    /// The refusals that any call may answer.
    package static let common: [CallAnswer] =
        [
            .refusal(400, "badHost", "The `Host` can't be one."),
            .refusal(400, "twoWorlds", "The address names two worlds."),
            .refusal(400, "tooMuch", "The request has too many fields, or texts that are too long."),
            .refusal(400, "badRequest", "The request can't be read as HTTP/1.1."),
            .refusal(401, "noToken", "The daemon has a control token, and none was sent."),
            .refusal(401, "wrongToken", "The control token is another one."),
            .refusal(403, "foreignHost", "The control API isn't served at this name: see `--control-host`."),
            .refusal(403, "foreignOrigin", "A page of another origin asks."),
            .refusal(403, "foreignSite", "A page of another site asks."),
            .refusal(403, "ownMessage", "It is a message that a daemon has sent."),
            .refusal(404, "badWorldName", "No world can have this name."),
            .refusal(404, "noSuchHost", "The host names neither a world nor a host that is played."),
            .refusal(413, "bodyTooLarge", "The request's body is larger than the call takes."),
            .refusal(431, "headerTooLarge", "The request's header is larger than the server takes."),
            .refusal(503, "busy", "Other requests take all the room that there is."),
            .refusal(503, "tooManyWorlds", "There is no room for another world."),
        ]
        + StoreFailure.Kind.allCases.map { .refusal(503, $0.code, "The worlds' store has failed.") }
}
