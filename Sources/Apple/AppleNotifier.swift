import HTTPClient
import Dispatch
import JSON

/// A notification, ready to be posted.
package struct AppleNotification: Sendable {
    let url: String
    /// The signed JSON Web Token.
    let payload: String
    /// What it says of the event, for the control API's answer.
    let events: JSONValue

    var body: [UInt8] { JSONValue.object(JSONObject([("payload", .string(payload))])).serialized() }
}

/// Posts notifications in the background: one attempt and three more, half a second, one and two seconds apart.
/// When Apple tries again isn't documented; it says that each event is delivered once.
package final class AppleNotifier: Sendable {
    package struct Delivery: Sendable {
        let attempts: Int
        /// The last answer's status, if there was one.
        let status: Int?
        let failure: String?

        var isDelivered: Bool { status.map { (200..<300).contains($0) } ?? false }

        func json(of notification: AppleNotification) -> JSONValue {
            var object = JSONObject([
                ("delivered", .bool(isDelivered)), ("url", .string(notification.url)),
                ("attempts", .integer(Int64(attempts))),
            ])
            object["status"] = status.map { .integer(Int64($0)) }
            object["failure"] = failure.map { .string($0) }
            object["events"] = notification.events
            object["payload"] = .string(notification.payload)
            return .object(object)
        }
    }

    private static let pauses: [DispatchTimeInterval] = [.milliseconds(500), .seconds(1), .seconds(2)]
    private let queue = DispatchQueue(label: "understudy.apple.notifications", attributes: .concurrent)

    init() {}

    /// Posts it, and says what became of it.
    func deliver(_ notification: AppleNotification) async -> Delivery {
        await withCheckedContinuation { continuation in
            attempt(notification, number: 1) { continuation.resume(returning: $0) }
        }
    }

    /// Posts it without waiting for the result.
    func send(_ notification: AppleNotification) { attempt(notification, number: 1) { _ in } }

    private func attempt(
        _ notification: AppleNotification, number: Int, done: @escaping @Sendable (Delivery) -> Void
    ) {
        queue.async { [self] in
            var status: Int?
            var failure: String?
            do throws(OutgoingRequest.Failure) {
                let answer = try OutgoingRequest.send(
                    "POST", to: notification.url, contentType: "application/json", body: notification.body, seconds: 5)
                status = answer.status
            } catch {
                failure = error.description
            }
            let delivery = Delivery(attempts: number, status: status, failure: failure)
            guard !delivery.isDelivered, number <= AppleNotifier.pauses.count else { return done(delivery) }
            queue.asyncAfter(deadline: .now() + AppleNotifier.pauses[number - 1]) { [self] in
                attempt(notification, number: number + 1, done: done)
            }
        }
    }
}
