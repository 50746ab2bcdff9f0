import JSON

extension ControlAPI {
    /// The schema of `GET health`. Sizes are in bytes; a caller without the control token gets only `status` and
    /// `version`.
    static let healthSchema = Schema.members(
        "Health",
        [
            .required("status", .choice(["ok", "failing", "ending"]), "Whether it is ready."),
            .required("version", .string, "The daemon's version."), .optional("worlds", .count, "How many there are."),
            .optional("store", storeSchema, "Where worlds are kept."),
            .optional("ports", .map(of: .count), "What is listened on, by what it serves."),
            .optional("memory", memorySchema, "What is held, and what had to go."),
            .optional("connections", .map(of: connectionsSchema), "By server."),
            .optional("droppedLogLines", .count, "Lines of the log that nobody read."),
        ])

    private static let storeSchema = Schema.members([
        .required("kind", .string, "What kind of store."), .required("reachable", .boolean, "Whether it can be used."),
        .optional("failure", .string, "What is wrong."), .optional("failingSince", .time, "Since when."),
        .optional("replica", .count, "This daemon's number among those that share it."),
        .optional(
            "replicas",
            .sequence(
                of: .members([
                    .required("number", .count, "Its number."), .required("name", .string, "What it is called."),
                ])), "The daemons that share it."),
    ])

    private static let connectionsSchema = Schema.members([
        .required("open", .count, "How many there are."), .optional("limit", .count, "How many there can be."),
        .optional(
            "held", .count,
            "Connections that wait for their answer. If worlds aren't kept in memory, this call's own is one."),
        .optional("bodyBytes", .count, "What their requests' bodies take."),
        .optional("refused", .count, "Refused for want of room."),
        .optional("evicted", .count, "Closed to make room."),
        .optional("expired", .count, "Closed when their time was up."),
        .optional("abandoned", .count, "Whose client had gone before the answer."),
    ])

    private static let allowanceSchema = Schema.members([
        .required("count", .count, "How many there are."), .required("limit", .count, "How many there can be."),
        .required("refused", .count, "How many were refused."),
    ])

    private static let memorySchema = Schema.members([
        .optional("resident", .count, "What the process takes, where the system says it."),
        .required(
            "recording",
            .members([
                .required("bytes", .count, "What all recordings take."), .required("limit", .count, "What they may."),
                .required("dropped", .count, "How many exchanges had to go."),
            ]), "What is recorded."),
        .required(
            "worlds",
            .members([
                .required("count", .count, "How many there are."), .required("limit", .count, "How many there can be."),
                .required("idle", .count, "Dropped after an hour without use."),
                .required("untouched", .count, "Dropped, with nothing in them, for others."),
                .required("dropped", .count, "Dropped for others."), .required("refused", .count, "Not made."),
            ]), "The worlds."),
        .required("projects", allowanceSchema, "Firebase projects that no seed has."),
        .required(
            "streams",
            .members([
                .required("count", .count, "How many streams and waiting requests there are."),
                .required("limit", .count, "How many there can be."),
                .required("refused", .count, "How many were refused."),
                .required("bytes", .count, "What waits to be read."), .required("byteLimit", .count, "What may."),
                .required("dropped", .count, "Streams that were let go because nobody read them."),
            ]), "Event streams."),
    ])
}
