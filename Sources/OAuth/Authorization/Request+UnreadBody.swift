import EmulatorCore
import HTTPServer
import JSON

extension Request {
    /// The reason why a body has no parameters, for an endpoint that reads forms and JSON; `nil` if the body was read
    /// or is empty.
    package var unreadBody: Diagnosis? {
        guard !body.isEmpty else { return nil }
        let type = header("Content-Type").map { "Content-Type \(Diagnosis.quote($0))" } ?? "no Content-Type"
        guard hasJSONBody || body.holdsJSON else {
            guard contentType != "application/x-www-form-urlencoded" else { return nil }
            return Diagnosis(
                received: "a body with \(type)", expected: "application/x-www-form-urlencoded or application/json",
                "say what the body is")
        }
        do {
            guard case .object = try JSONValue(parsing: body) else {
                return Diagnosis(
                    received: "a JSON body that isn't an object", "send the parameters as an object's members")
            }
        } catch { return Diagnosis("the JSON body can't be read: \(error.description)") }
        guard !hasJSONBody else { return nil }
        return Diagnosis(
            received: "a JSON body with \(type)", expected: "Content-Type: application/json", "say what the body is")
    }
}
