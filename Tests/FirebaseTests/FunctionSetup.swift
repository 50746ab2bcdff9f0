import Foundation
import HTTPServer
import JOSE
import Synchronization
import TestSupport

/// A daemon whose project has a function, and that function.
final class FunctionSetup {
    let fixture: FirebaseFixture
    let receiver: Receiver
    private let answers: Answers

    /// The function's answers, by event.
    final class Answers: Sendable {
        let bodies = Mutex<[String: (status: Int, body: String)]>([:])
        /// The actions while the function is asked, by event.
        let meanwhile = Mutex<[String: @Sendable () -> Void]>([:])
    }

    init(_ events: [String] = ["beforeCreate", "beforeSignIn"], forwards: [String] = [], seed: String? = nil) throws {
        let answers = Answers()
        self.answers = answers
        receiver = try Receiver { request in
            let event = FunctionSetup.claims(request)["event_type"] as? String ?? ""
            answers.meanwhile.withLock { $0[event] }?()
            let (status, body) = answers.bodies.withLock { $0[event] } ?? (200, "{}")
            return .now(Response(status: status, contentType: "application/json", body: body))
        }
        fixture = try FirebaseFixture(seed: seed)
        let triggers = Dictionary(uniqueKeysWithValues: events.map { ($0, ["functionUri": receiver.url]) })
        let functions: [String: Any] = [
            "triggers": triggers,
            "forwardInboundCredentials": Dictionary(uniqueKeysWithValues: forwards.map { ($0, true) }),
        ]
        _ = try fixture.admin(
            "PATCH", "/config?updateMask=blockingFunctions", ["blockingFunctions": functions], version: "v2")
    }

    func answer(_ event: String, _ record: [String: Any], status: Int = 200) throws {
        let body = try JSONSerialization.data(withJSONObject: ["userRecord": record])
        answers.bodies.withLock { $0[event] = (status, String(decoding: body, as: UTF8.self)) }
    }

    func answer(_ event: String, status: Int, _ body: String) { answers.bodies.withLock { $0[event] = (status, body) } }

    /// Sets an action that is run once, while the function is asked.
    func during(_ event: String, _ action: @escaping @Sendable () -> Void) {
        answers.meanwhile.withLock { kept in
            kept[event] = { [answers] in
                answers.meanwhile.withLock { $0[event] = nil }
                action()
            }
        }
    }

    /// The claims of the tokens that the function got.
    var asked: [[String: Any]] { receiver.requests.map(FunctionSetup.claims) }
    var events: [String] { asked.map { "\($0["event_type"] ?? "") \($0["sign_in_method"] ?? "")" } }

    static func claims(_ request: Request) -> [String: Any] {
        let body = try? JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any]
        let token = (body?["data"] as? [String: Any])?["jwt"] as? String ?? ""
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let claims = Base64URL.decode(parts[1]) else { return [:] }
        return (try? JSONSerialization.jsonObject(with: Data(claims))) as? [String: Any] ?? [:]
    }
}

/// An answer with all possible changes.
var everyChange: [String: Any] {
    [
        "updateMask": "displayName,photoURL,emailVerified,customClaims,sessionClaims", "displayName": "Grace",
        "photoURL": "https://example.com/grace.png", "emailVerified": true, "customClaims": ["role": "admin"],
        "sessionClaims": ["session": 7],
    ]
}
