import JSON
import Time

/// The fields of a message in protobuf's JSON form, read as Google's API does: a number may be written as a text, and
/// null counts as missing. <https://protobuf.dev/programming-guides/json/>
struct MessageFields: Sendable {
    private let body: JSONObject
    /// The path of the message in the request, with a dot, as refusals name it: `users[0].`.
    private let path: String

    /// Reads an object whose names are in camel case or have underscores: Google's API takes both.
    init(_ object: JSONObject, at path: String = "") {
        self.init(named: JSONObject(object.members.map { (MessageFields.camelCase($0.key), $0.value) }), at: path)
    }

    /// Reads an object whose names are in camel case already.
    init(named object: JSONObject, at path: String = "") {
        body = object
        self.path = path
    }

    /// Returns a field's name as refusals give it.
    func place(_ name: String) -> String { path + MessageFields.snakeCase(name) }

    /// Returns the text of a value. Google's API takes a number as a text, too.
    private static func text(of value: JSONValue) -> String? {
        switch value {
        case .integer, .number: value.text
        default: value.string
        }
    }

    static func camelCase(_ name: String) -> String {
        guard name.contains("_") else { return name }
        let words = name.split(separator: "_")
        return words.enumerated().map { place, word in
            place == 0 ? String(word) : word.prefix(1).uppercased() + word.dropFirst()
        }.joined()
    }

    private static func snakeCase(_ name: String) -> String {
        name.map { $0.isUppercase ? "_\($0.lowercased())" : String($0) }.joined()
    }

    /// Returns a text; `nil` if the field is missing, null or empty, which is the same to Google's API.
    func text(_ name: String) throws(FirebaseError) -> String? {
        guard let value = body[name], !value.isNull else { return nil }
        guard let text = MessageFields.text(of: value) else { throw .wrongType(place(name), "TYPE_STRING", value) }
        try TextLimits.check(text, name)
        return text.isEmpty ? nil : text
    }

    /// Returns a text, or an empty one if the field is empty: that clears a name, for example.
    func given(_ name: String) throws(FirebaseError) -> String? {
        body[name]?.string == "" ? "" : try text(name)
    }

    func flag(_ name: String) throws(FirebaseError) -> Bool? {
        guard let value = body[name], !value.isNull else { return nil }
        guard let flag = value.bool else { throw .wrongType(place(name), "TYPE_BOOL", value) }
        return flag
    }

    func texts(_ name: String) throws(FirebaseError) -> [String] {
        guard let value = body[name], !value.isNull else { return [] }
        var texts: [String] = []
        // A single text counts as a list of one.
        for item in value.array ?? [value] {
            guard let text = MessageFields.text(of: item) else { throw .wrongType(place(name), "TYPE_STRING", item) }
            try TextLimits.check(text, name)
            texts.append(text)
        }
        return texts
    }

    func map(_ name: String) throws(FirebaseError) -> [(key: String, value: JSONValue)] {
        guard let value = body[name], !value.isNull else { return [] }
        guard let object = value.object else { throw .wrongType(place(name), "Map", value) }
        return object.members
    }

    /// Returns the name or the number of an enumeration's value.
    func value(_ name: String) -> String? {
        body[name].flatMap { value in value.string ?? value.integer.map(String.init) }
    }

    /// Returns the fields of a nested message.
    func nested(_ name: String) throws(FirebaseError) -> MessageFields? {
        guard let value = body[name], !value.isNull else { return nil }
        guard let object = value.object else { throw .wrongType(place(name), "TYPE_MESSAGE", value) }
        return MessageFields(object, at: "\(place(name)).")
    }

    /// Refuses a message that has two members of a `oneof`, as Google's API frontend does. The refusal names the second
    /// of them. Recorded as `interactions#start-both-kinds`.
    func checkOneOf(_ name: String, _ members: [String]) throws(FirebaseError) {
        let given = body.keys.filter { members.contains($0) && has($0) }
        guard given.count > 1 else { return }
        throw .invalidField(
            given[1], "Invalid value (oneof), oneof field '\(name)' is already set. Cannot set '\(given[1])'",
            because: "the body has \(given.joined(separator: " and ")): send one of them")
    }

    /// Returns the elements of a list of messages.
    func list(_ name: String) throws(FirebaseError) -> [MessageFields] {
        guard let value = body[name], !value.isNull else { return [] }
        guard let items = value.array else { throw .wrongType(place(name), "TYPE_MESSAGE", value) }
        return items.enumerated().map { index, item in
            MessageFields(item.object ?? JSONObject(), at: "\(place(name))[\(index)].")
        }
    }

    var names: [String] { body.keys }
    var members: JSONObject { body }

    func has(_ name: String) -> Bool { body[name].map { !$0.isNull } ?? false }

    func isNull(_ name: String) -> Bool { body[name]?.isNull ?? false }

    /// Returns a whole number, given as a number or a text.
    func integer(_ name: String) throws(FirebaseError) -> Int64? {
        guard let value = body[name], !value.isNull else { return nil }
        guard let number = value.integer ?? value.string.flatMap({ Int64($0) }) else {
            throw .wrongType(place(name), "TYPE_INT64", value)
        }
        return number
    }

    /// Returns a time, in the unit that `read` takes. The service's answer to a time that is out of range isn't
    /// documented.
    func instant(_ name: String, _ read: (Int64) -> Instant?) throws(FirebaseError) -> Instant? {
        guard let number = try integer(name) else { return nil }
        guard let instant = read(number) else {
            throw .wrongType(place(name), "TYPE_INT64", .integer(number))
        }
        return instant
    }
}
