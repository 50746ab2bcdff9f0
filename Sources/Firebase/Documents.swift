import EmulatorCore
import JSON

/// A value that a member of a document may have.
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

/// The members of a document with their values, in order. Members that are `nil` are left out.
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
    /// Makes an answer. `others` are further members, such as a sign-in's tokens.
    init(_ members: Members, and others: JSONObject = JSONObject(), diagnosis: Diagnosis? = nil, note: Note? = nil) {
        self.init(body: JSONObject(members), diagnosis: diagnosis, note: note)
        body.merge(others)
    }

    /// The answer to a call that has nothing to tell.
    static let empty = FirebaseAnswer(body: JSONObject())
}
