import EmulatorCore
import HTTPServer
import JSON

/// A message as the control API shows it.
struct MailDocument {
    let row: InboxMessage

    var json: JSONValue {
        let message = row.message
        var object = JSONObject([
            ("id", .string(row.id)), ("kind", .string(message.kind.rawValue)),
            ("from", .string(message.from.address)), ("to", .string(message.to.address)),
            (
                "envelope",
                [
                    "from": .string(message.envelope.from),
                    "to": .array(message.envelope.to.map { .string($0) }),
                ]
            ),
        ])
        object["subject"] = message.subject.map { .string($0) }
        object["text"] = message.text.map { .string($0) }
        object["html"] = message.html.map { .string($0) }
        object["links"] = .array(message.links.map { .string($0) })
        object["codes"] = .array(message.codes.map { .string($0) })
        if let relay = message.relay { object["relay"] = MailDocument.json(relay) }
        object["time"] = .string(row.time.text)
        object["request"] = message.request.map { .string($0) }
        let headers = row.headers.map { field -> JSONValue in
            ["name": .string(field.name), "value": .string(field.value)]
        }
        if !headers.isEmpty { object["headers"] = .array(headers) }
        return .object(object)
    }

    private static func json(_ relay: SentMessage.Relay) -> JSONValue {
        var object = JSONObject([("address", .string(relay.address)), ("title", .string(relay.title))])
        object["forwardedTo"] = relay.forwardedTo.map { .string($0) }
        object["refusal"] = relay.refusal.map { .string($0) }
        object["reason"] = relay.reason.map { .string($0) }
        return .object(object)
    }
}

extension ControlAPI {
    /// The message as it is shown: with `--mask-secrets` without its codes, wherever they occur in it.
    package func shown(_ row: InboxMessage) -> InboxMessage {
        guard masksSecrets else { return row }
        let mask = Mask(row.message)
        var (row, message) = (row, row.message)
        message.subject = message.subject.map { mask.apply(to: $0) }
        message.text = message.text.map { mask.apply(to: $0) }
        message.html = message.html.map { mask.apply(to: $0) }
        message.links = message.links.map { mask.apply(toEncoded: $0) }
        message.codes = message.codes.map { mask.apply(to: $0) }
        row.message = message
        return row
    }
}

extension Mask {
    /// The secrets of a message: its codes, and what its links carry.
    init(_ message: SentMessage) {
        var values = Set(message.codes)
        for link in message.links {
            guard let mark = link.firstIndex(of: "?") else { continue }
            let query = link[mark...].dropFirst().prefix { $0 != "#" }
            for field in Form(parsing: Array(query.utf8)).fields where Mask.isSecret(field.name) {
                values.insert(field.value)
            }
        }
        self.init(values)
    }
}
