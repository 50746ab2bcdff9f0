import EmulatorCore
import JSON

extension MailDocument {
    /// The schema of a message.
    static let schema = Schema.members(
        "Message",
        [
            .required("id", .string, "Its ID."),
            .required("kind", .choice(SentMessage.Kind.allCases.map(\.rawValue)), "An e-mail or a text message."),
            .required("from", .string, "Who it is from, by its header."),
            .required("to", .string, "Who it is for, by its header."),
            .required(
                "envelope",
                .members([
                    .required("from", .string, "The sender."), .required("to", .strings(), "The recipients."),
                ]), "What mail servers tell each other."),
            .optional("cc", .strings(), "Who gets a copy."), .optional("subject", .string, "The subject."),
            .optional("text", .string, "What it says, as plain text."), .optional("html", .string, "The same as HTML."),
            .required("links", .strings(), "The links in it."), .required("codes", .strings(), "The codes in it."),
            .optional("attachments", .sequence(of: attachmentSchema), "What is attached."),
            .optional("relay", relaySchema, "What a relay has done with it."),
            .required("time", .time, "The world's time when it came."),
            .optional("request", .string, "The exchange that brought it."),
            .optional(
                "headers",
                .sequence(
                    of: .members([.required("name", .string, "Its name."), .required("value", .string, "Its value.")])),
                "Its header fields."), .optional("notes", .strings(), "What is odd about it."),
            .optional("cut", .boolean, "Whether something was left out of a list: ask for the message itself."),
        ])

    private static let attachmentSchema = Schema.members([
        .optional("name", .string, "The file's name."), .required("type", .string, "Its media type."),
        .required("size", .count, "Its bytes."), .optional("contentId", .string, "By which the HTML names it."),
        .optional("url", .string, "Where it is."), .optional("withheld", .boolean, "Whether it isn't shown."),
    ])

    private static let relaySchema = Schema.members([
        .required("address", .string, "The hidden address."), .required("title", .string, "Which relay."),
        .optional("forwardedTo", .string, "Who got it."), .optional("sender", .string, "As whose it was forwarded."),
        .optional("refusal", .string, "With which words it was refused."), .optional("reason", .string, "Why."),
    ])

    static let listSchema = Schema.members(
        "Messages",
        [
            .required("messages", .sequence(of: schema), "The messages, the oldest first."),
            .optional("last", .string, "The ID of the last one here."),
            .optional("more", .boolean, "Whether there are more: ask for those after `last`."),
            .optional("dropped", .count, "How many had to make room."),
        ])
}
