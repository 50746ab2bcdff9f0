import Dispatch
import EmulatorCore
import JSON

/// A notification that is ready to be sent.
struct AppleNotification: Sendable {
    /// The pauses between attempts: after the first, there are three more. Apple's repetitions aren't documented; it
    /// says that each event is delivered once.
    static let pauses: [DispatchTimeInterval] = [.milliseconds(500), .seconds(1), .seconds(2)]

    let url: String
    /// The signed JSON Web Token.
    let payload: String
    /// The event in the notification, for the control API's answer.
    let events: JSONValue

    var message: OutgoingMessage {
        OutgoingMessage(
            to: url, contentType: "application/json",
            body: JSONValue.object(JSONObject([("payload", .string(payload))])).serialized())
    }

    /// Returns the result of the delivery, for the control API.
    func json(_ delivery: OutgoingMessage.Delivery) -> JSONValue {
        var object = delivery.json(of: message)
        object["events"] = events
        object["payload"] = .string(payload)
        return .object(object)
    }
}
