import Foundation
import TestSupport

// Calls in the form that production gets, for tests of its recorded answers: https://github.com/t-k/fireemu, folder
// conformance, files auth-…-production.json of September 2026. A test names the program and the step there.

extension FirebaseFixture {
    static let number = "123456789012"

    /// A project with the number and the test numbers of the recordings' project.
    static func recorded(_ more: String = "") throws -> FirebaseFixture {
        let numbers = (1...6).map { #""+1650555010\#($0)":"123456""# }.joined(separator: ",")
        return try FirebaseFixture(
            seed: """
                {"firebase":{"projects":[{"id":"demo-app","number":"\(number)","idTokenSignature":"RS256",
                 "providers":{"password":{},"emailLink":{"enabled":false},"anonymous":{},"phone":{"testNumbers":{\(numbers)}}}\(more)}]}}
                """)
    }

    /// Sends an app's call to the real host name.
    func app(_ path: String, _ body: [String: Any], host: String = "identitytoolkit.googleapis.com") throws -> Answer {
        try client.request(
            "POST", "/\(path)?key=\(FirebaseFixture.key)", headers: ["Host": host, "Content-Type": "application/json"],
            body: Array(try JSONSerialization.data(withJSONObject: body)))
    }

    /// Sends an administrator's call to the real host name.
    func owner(_ method: String, _ path: String, _ body: [String: Any]? = nil) throws -> Answer {
        try client.request(
            method, "/\(path)",
            headers: [
                "Host": "identitytoolkit.googleapis.com", "Authorization": "Bearer owner",
                "Content-Type": "application/json",
            ], body: try body.map { Array(try JSONSerialization.data(withJSONObject: $0)) } ?? [])
    }

    /// Sends an administrator's call about users.
    func accounts(_ method: String, _ body: [String: Any], tenant: String? = nil) throws -> Answer {
        let scope = tenant.map { "/tenants/\($0)" } ?? ""
        return try owner(
            "POST", "v1/projects/demo-app\(scope)/accounts\(method.isEmpty ? "" : ":\(method)")", body)
    }
}

extension Answer {
    /// Whether the body has these members and no others.
    func isBody(_ expected: [String: Any]) -> Bool {
        NSDictionary(dictionary: json) == NSDictionary(dictionary: expected)
    }

    /// Google's name of the status in the error.
    var errorStatus: String? { (json["error"] as? [String: Any])?["status"] as? String }
}
