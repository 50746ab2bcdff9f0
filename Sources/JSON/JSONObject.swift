/// A JSON object, which keeps the order of its members. Setting an existing member keeps its position. If the
/// initializer gets several members with the same name, it keeps the first.
package struct JSONObject: Sendable {
    private struct Entry: Sendable {
        let key: String
        /// The value of the object's member; `nil` once the member is removed.
        var value: JSONValue?
    }

    /// The largest number of an object's members that are searched one by one, which is faster than hashing if there
    /// are few.
    private static let searched = 8

    private var entries: [Entry] = []
    /// The positions of the members in `entries`, by member name. The dictionary is empty while the object has only a
    /// few members, which are searched one by one.
    private var places: [String: Int] = [:]

    package init(_ members: [(String, JSONValue)] = []) {
        entries.reserveCapacity(members.count)
        for (key, value) in members where place(of: key) == nil { append(key, value) }
    }

    package subscript(key: String) -> JSONValue? {
        get { place(of: key).flatMap { entries[$0].value } }
        set {
            switch (place(of: key), newValue) {
            case (let place?, let value?): entries[place].value = value
            case (let place?, nil): remove(at: place)
            case (nil, let value?): append(key, value)
            case (nil, nil): break
            }
        }
    }

    package var count: Int { places.isEmpty ? entries.count : places.count }
    package var isEmpty: Bool { count == 0 }

    package var members: [(key: String, value: JSONValue)] {
        entries.compactMap { entry in entry.value.map { (key: entry.key, value: $0) } }
    }

    package var keys: [String] { entries.compactMap { $0.value == nil ? nil : $0.key } }

    /// Calls `body` for each member of the object, without making a list of the members.
    func forEach(_ body: (String, JSONValue) -> Void) {
        for entry in entries {
            if let value = entry.value { body(entry.key, value) }
        }
    }

    /// Copies all members of `other` into this object. They replace members with the same names.
    package mutating func merge(_ other: JSONObject) {
        other.forEach { self[$0] = $1 }
    }

    private func place(of key: String) -> Int? {
        places.isEmpty ? entries.firstIndex { $0.key == key } : places[key]
    }

    private mutating func append(_ key: String, _ value: JSONValue) {
        entries.append(Entry(key: key, value: value))
        if !places.isEmpty {
            places[key] = entries.count - 1
        } else if entries.count > JSONObject.searched {
            index()
        }
    }

    private mutating func index() {
        places = [:]
        guard entries.count > JSONObject.searched else { return }
        places.reserveCapacity(entries.count)
        for (place, entry) in entries.enumerated() { places[entry.key] = place }
    }

    private mutating func remove(at place: Int) {
        guard !places.isEmpty else {
            entries.remove(at: place)
            return
        }
        places[entries[place].key] = nil
        entries[place].value = nil
        guard places.count <= max(JSONObject.searched, entries.count / 2) else { return }
        entries.removeAll { $0.value == nil }
        index()
    }
}

extension JSONObject: Equatable {
    /// Returns whether two JSON objects have the same members, in any order.
    package static func == (left: JSONObject, right: JSONObject) -> Bool {
        left.count == right.count
            && left.entries.allSatisfy { entry in entry.value == nil || right[entry.key] == entry.value }
    }
}
