import JSON

/// The names and values in an app's configuration file, from which `understudy seed init` makes a seed. The file is a
/// list of variables, a property list, or a JSON document, whose members are read at any depth. A framework's prefix,
/// such as `VITE_`, is removed from a name. If a name has several values, the first one is used; only `all` returns
/// every value.
package struct AppConfiguration: Sendable {
    /// The reason why an app's configuration file can't be read.
    package struct Malformed: Error, CustomStringConvertible, Sendable {
        /// The number of the malformed line in the configuration file, from 1; `nil` when the whole file is malformed.
        package let line: Int?
        package let reason: String

        package init(line: Int? = nil, _ reason: String) {
            self.line = line
            self.reason = reason
        }

        package var description: String { line.map { "line \($0): \(reason)" } ?? reason }
    }

    /// The largest size in bytes of a configuration file that is read.
    package static let limit = 1 << 20

    /// The name of the app's configuration file, or the names of several merged files, separated by commas; `nil` when
    /// there is no file.
    package let name: String?
    /// The directories of the app's configuration files.
    private var directories: [String] = []
    /// All values of each name in the configuration file, without repetitions.
    private var values: [String: [String]] = [:]
    /// The objects in a JSON configuration file, each with the key under which it stands.
    private var objects: [(name: String, object: JSONObject)] = []

    package init() { name = nil }

    private init(name: String, _ values: [(String, String)]) {
        self.name = name
        directories = [name.lastIndex(of: "/").map { String(name[...$0]) } ?? ""]
        for (name, value) in values where !value.isEmpty {
            let name = AppConfiguration.plainName(name)
            if self.values[name]?.contains(value) != true { self.values[name, default: []].append(value) }
        }
    }

    package init(name: String, bytes: [UInt8]) throws(Malformed) {
        if bytes.starts(with: "bplist".utf8) {
            throw Malformed("the file is a binary property list: convert it with \"plutil -convert xml1\"")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw Malformed("it isn't UTF-8") }
        try self.init(name: name, text: text)
    }

    /// Reads an app's configuration file, which is a property list in XML, a JSON document, or a list of variables as
    /// in `.env`. The format is recognized by the file's beginning.
    package init(name: String, text: String) throws(Malformed) {
        guard text.utf8.count <= AppConfiguration.limit else {
            throw Malformed("it has more than \(AppConfiguration.limit >> 20) MB")
        }
        // There are editors that put this mark before UTF-8.
        let text = text.hasPrefix("\u{FEFF}") ? String(text.unicodeScalars.dropFirst()) : text
        switch text.utf8.first(where: { !PropertyList.isSpace($0) }) {
        case UInt8(ascii: "<"): self.init(name: name, try PropertyList.strings(in: text))
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            let value = try AppConfiguration.value(of: text)
            var found: [(String, String)] = []
            AppConfiguration.collect(value, "", &found)
            self.init(name: name, found)
            AppConfiguration.collect(value, "", &objects)
        default:
            // Firebase's console shows its configuration in this form, with "const firebaseConfig = {" before it.
            if text.contains("apiKey:") || text.contains("firebaseConfig") {
                throw Malformed(
                    "it is JavaScript: write the object alone, as JSON: {\"apiKey\": \"…\", \"projectId\": \"…\"}")
            }
            self.init(name: name, try EnvironmentFile.variables(in: text))
        }
    }

    /// Merges several configuration files of an app. If several files have a value of the same name, the first file's
    /// value is used.
    package init(merging files: [AppConfiguration]) {
        name = files.isEmpty ? nil : files.compactMap(\.name).joined(separator: ", ")
        directories = files.flatMap(\.directories)
        values = files.reduce(into: [:]) { all, file in
            all.merge(file.values) { first, next in first + next.filter { !first.contains($0) } }
        }
        objects = files.flatMap(\.objects)
    }

    package var isGiven: Bool { name != nil }
    package var names: [String] { values.keys.sorted() }

    /// Returns the value of the first of `names` that occurs in the app's configuration; `nil` if none does.
    package subscript(names: String...) -> String? { self[names] }

    package subscript(names: [String]) -> String? { names.lazy.compactMap { values[$0]?.first }.first }

    /// Returns all values that the configuration has for `names`, in the order of `names`.
    package func all(_ names: String...) -> [String] { names.flatMap { values[$0] ?? [] } }

    /// Returns the objects, at any depth of the JSON configuration file, whose member `key` is the string `value`. Each
    /// object is returned with its own key in the file as `name`. Settings that belong together are in the same object.
    package func objects(where key: String, is value: String) -> [(name: String, object: JSONObject)] {
        objects.filter { $0.object[key]?.string == value }
    }

    /// Returns the text of the file at `path`, which is relative to the directory of one of the app's configuration
    /// files.
    ///
    /// - Throws: The reason why there is no such file, or why it can't be read.
    package func text(ofFile path: String) throws(File.Failure) -> String {
        let paths = path.hasPrefix("/") ? [path] : directories.map { $0 + path }
        return try File.text(at: paths.first { File.exists($0) } ?? path, limit: AppConfiguration.limit)
    }

    // MARK: - Names

    /// The prefixes that frameworks require for the names of variables, for example of those that are passed on to the
    /// browser.
    private static let prefixes = [
        "NEXT_PUBLIC_", "NUXT_PUBLIC_", "NUXT_OAUTH_", "EXPO_PUBLIC_", "REACT_APP_", "VUE_APP_", "GATSBY_", "VITE_",
        "PUBLIC_", "SOCIAL_AUTH_", "SOCIALACCOUNT_", "OAUTH_",
    ]

    private static func plainName(_ name: String) -> String {
        prefixes.first { name.hasPrefix($0) }.map { String(name.dropFirst($0.count)) } ?? name
    }

    // MARK: - JSON

    private static func value(of text: String) throws(Malformed) -> JSONValue {
        do { return try JSONValue(parsing: Array(text.utf8), limits: .request) } catch {
            throw Malformed("not JSON: \(error)")
        }
    }

    private static func collect(
        _ value: JSONValue, _ name: String, _ found: inout [(name: String, object: JSONObject)]
    ) {
        switch value {
        case .object(let object):
            found.append((name, object))
            for (key, value) in object.members { collect(value, key, &found) }
        case .array(let items): for item in items { collect(item, name, &found) }
        default: break
        }
    }

    private static func collect(_ value: JSONValue, _ name: String, _ found: inout [(String, String)]) {
        switch value {
        case .string(let text): found.append((name, text))
        case .object(let object): for (key, value) in object.members { collect(value, key, &found) }
        case .array(let items): for item in items { collect(item, name, &found) }
        default: break
        }
    }
}

extension AppConfiguration {
    /// The client ID, secret and redirect URI of an OAuth client in an app's configuration. Their usual names are
    /// `NAME_CLIENT_ID`, `AUTH_NAME_ID` and so on.
    package struct Client: Sendable {
        package let id: String?
        package let secret: String?
        package let redirectURI: String?

        package init(id: String?, secret: String?, redirectURI: String?) {
            self.id = id
            self.secret = secret
            self.redirectURI = redirectURI
        }
    }

    /// Returns a provider's OAuth client from the app's configuration. `name` is the provider's name in upper case,
    /// such as `CORP`, and `noun` is the provider's word for a client, such as `APP`.
    package func client(_ name: String, noun: String = "CLIENT") -> Client {
        func value(_ ends: [String]) -> String? {
            self[
                ends.flatMap { ["\(name)_\(noun)_\($0)", "\(name)_CLIENT_\($0)", "\(name)_OAUTH_CLIENT_\($0)"] }
                    + ends.flatMap { ["AUTH_\(name)_\($0)", "\(name)_\($0)"] }]
        }
        return Client(
            id: value(["ID", "KEY"]), secret: value(["SECRET"]),
            redirectURI: self[
                "\(name)_REDIRECT_URI", "\(name)_REDIRECT_URL", "\(name)_CALLBACK_URL", "\(name)_CALLBACK_URI",
                "\(name)_RETURN_URL"])
    }
}
