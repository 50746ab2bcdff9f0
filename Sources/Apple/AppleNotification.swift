import Dispatch
import EmulatorCore
import JSON

/// A notification, ready to be posted.
struct AppleNotification: Sendable {
    /// One attempt and three more. How Apple repeats isn't documented; it says that each event is delivered once.
    static let pauses: [DispatchTimeInterval] = [.milliseconds(500), .seconds(1), .seconds(2)]

    let url: String
    /// The signed JSON Web Token.
    let payload: String
    /// What it says of the event, for the control API's answer.
    let events: JSONValue

    var message: OutgoingMessage {
        OutgoingMessage(
            to: url, contentType: "application/json",
            body: JSONValue.object(JSONObject([("payload", .string(payload))])).serialized())
    }

    /// What became of it, as the control API says it.
    func json(_ delivery: OutgoingMessage.Delivery) -> JSONValue {
        var object = delivery.json(of: message)
        object["events"] = events
        object["payload"] = .string(payload)
        return .object(object)
    }
}
