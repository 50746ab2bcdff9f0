import JOSE
import JSON

/// Checks the references between parts of a seed, after all seed files were merged: everything that is referred to must
/// exist. Each provider checks its own section and profiles.
package struct SeedReferences {
    package let root: LocatedJSON
    package let accounts: [LocatedJSON]
    package let accountIDs: KnownNames
    /// The private and public keys in the seed. Each is found by its PEM text.
    let keys: [String: Key]
    package private(set) var issues: [Issue] = []
    /// The host names and path segments that a seed can't use.
    private(set) lazy var reserved = format.reservedNames
    private let format: SeedFormat

    init(_ root: LocatedJSON, keys: [String: Key], format: SeedFormat) {
        self.root = root
        self.keys = keys
        self.format = format
        accounts = root["accounts"]?.items ?? []
        accountIDs = KnownNames(accounts.compactMap { $0["id"]?.string })
    }

    mutating func check() {
        for profile in format.profiles { profile.check(&self) }
        checkInteraction(root["interaction"])
        for outcome in root["outcomes"]?.items ?? [] { checkInteraction(outcome) }
        for section in format.sections {
            expectSigningKeys(root[section.name]?["signingKeys"])
            section.check(&self)
        }
    }

    // MARK: - For the providers

    package mutating func add(_ json: LocatedJSON, _ message: String) { issues.append(Issue(json, message)) }

    /// Notes an error for each difference between `schema` and a value that was put together from several places of the
    /// seed.
    package mutating func check(_ json: LocatedJSON, against schema: Schema) { issues += schema.issues(in: json) }

    /// Notes an error unless the name in `json` is one of the `known` names. A missing name is no error.
    package mutating func expect(
        _ json: LocatedJSON?, among known: KnownNames, _ what: String, in place: String = ""
    ) {
        guard let json, let name = json.string, !known.contains(name) else { return }
        // Further issues aren't listed, and comparing words costs more than finding one.
        let hint = issues.count < Issues.listed ? Spelling.hint(name, among: known.all) : ""
        add(json, "no \(what) \"\(name)\"\(place)" + hint)
    }

    package mutating func expectAccount(_ json: LocatedJSON?) {
        expect(json, among: accountIDs, "account", in: " in accounts")
    }

    /// Checks that an `interaction` setting or a requested sign-in result refers to an existing account, and that a
    /// result of kind `error` names the error.
    package mutating func checkInteraction(_ interaction: LocatedJSON?) {
        guard let interaction else { return }
        expectAccount(interaction["account"])
        if interaction["outcome"]?.string == Outcome.Kind.error.rawValue, interaction["error"]?.string == nil {
            add(interaction, "the outcome \"error\" needs the error's name in the member \"error\"")
        }
    }

    /// Notes an error if two of `items` have the same value in the member `key`.
    package mutating func checkUnique(_ items: [LocatedJSON], key: String, what: String) {
        var first: [String: LocatedJSON] = [:]
        for item in items {
            guard let json = item[key] else { continue }
            let text = json.value.text
            if let earlier = first[text] {
                add(
                    json,
                    "\(text) is already used as the \(key) of another \(what), at \(SeedReferences.place(of: earlier, from: json))"
                )
            } else {
                first[text] = json
            }
        }
    }

    /// Notes an error if `name`, a host name in the seed, is invalid, belongs to another provider, or is reserved for
    /// the daemon. `json` is the host name's place in the seed.
    package mutating func checkHost(_ json: LocatedJSON, _ name: String) {
        if !HostName.isValid(name) {
            add(json, "\"\(name)\" can't be a host: expected a host name in lower case, such as \"login.corp.example\"")
        } else if reserved.hosts.contains(name) || reserved.hosts.contains("*\(name.drop { $0 != "." })") {
            add(json, "the host \"\(name)\" already belongs to another provider")
        } else if name == "localhost" || name.hasSuffix(".localhost") || reserved.segments.contains(name) {
            add(json, "the host \"\(name)\" is reserved for the daemon itself")
        }
    }

    /// Notes an error if the name in `json` is already in `taken`, and otherwise adds the name to `taken`. These names
    /// must be unique over several lists, such as the API keys of all projects.
    package mutating func claim(_ json: LocatedJSON?, as what: String, in taken: inout [String: LocatedJSON]) {
        guard let json, let name = json.string else { return }
        if let earlier = taken[name] {
            add(json, "\(what) \"\(name)\" is already taken at \(SeedReferences.place(of: earlier, from: json))")
        } else {
            taken[name] = json
        }
    }

    /// Returns the path of `json` in its seed file, with the file's name before the path if `other` is in a different
    /// file.
    private static func place(of json: LocatedJSON, from other: LocatedJSON) -> String {
        json.file == other.file ? json.path : "\(json.file): \(json.path)"
    }
}

/// The names of things in a seed, such as accounts, to which other parts of the seed may refer.
package struct KnownNames: Sendable {
    package let all: [String]
    private let set: Set<String>

    package init(_ all: [String]) {
        self.all = all
        set = Set(all)
    }

    /// Reads the names of the elements of a list in a seed. Each element has its name in the member `key`.
    package init(_ list: LocatedJSON?, _ key: String) {
        self.init((list?.value.array ?? []).compactMap { $0[key]?.string })
    }

    package func contains(_ name: String) -> Bool { set.contains(name) }

    package static func + (left: KnownNames, right: KnownNames) -> KnownNames { KnownNames(left.all + right.all) }
}
