import EmulatorCore
import JSON

/// A Swift value that can be a member of a JSON answer.
protocol DocumentValue {
    var json: JSONValue { get }
}

extension JSONValue: DocumentValue {
    var json: JSONValue { self }
}

extension JSONObject: DocumentValue {
    var json: JSONValue { .object(self) }
}

extension String: DocumentValue {
    var json: JSONValue { .string(self) }
}

extension Bool: DocumentValue {
    var json: JSONValue { .bool(self) }
}

extension Int: DocumentValue {
    var json: JSONValue { .integer(Int64(self)) }
}

extension Int64: DocumentValue {
    var json: JSONValue { .integer(self) }
}

extension Array: DocumentValue where Element: DocumentValue {
    var json: JSONValue { .array(map(\.json)) }
}

/// The members of a JSON object in their order. A member whose value is `nil` is left out.
typealias Members = KeyValuePairs<String, (any DocumentValue)?>

extension JSONValue {
    static func document(_ members: Members) -> JSONValue { .object(JSONObject(members)) }
}

extension JSONObject {
    init(_ members: Members) {
        self.init(members.compactMap { name, value in value.map { (name, $0.json) } })
    }
}

extension FirebaseAnswer {
    /// Makes an answer from its members. `others` are more members, such as the tokens of a sign-in.
    init(_ members: Members, and others: JSONObject = JSONObject(), diagnosis: Diagnosis? = nil, note: Note? = nil) {
        self.init(body: JSONObject(members), diagnosis: diagnosis, note: note)
        body.merge(others)
    }

    /// The answer of an API method that returns nothing: an empty JSON object.
    static let empty = FirebaseAnswer(body: JSONObject())
}
