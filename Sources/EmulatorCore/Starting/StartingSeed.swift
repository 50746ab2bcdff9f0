import JOSE
import JSON

/// A provider that can write its part of a first seed for an app.
package protocol StartsSeeds: Provider {
    /// Returns the provider's values that an app's configuration has.
    static func trace(in app: AppConfiguration) -> AppTrace

    /// Writes the provider's section, for the clients of `start.app`, or for an example.
    static func begin(_ start: inout StartingSeed) throws(KeyError)
}

/// The values of a provider that an app's configuration has.
package enum AppTrace: Sendable {
    case nothing
    case client
    /// A project whose people may sign in at any provider, which sends them back to these addresses.
    case project(redirectURIs: [String])
}

/// A first seed for an app, while it is put together: each provider adds its part.
package struct StartingSeed: Sendable {
    /// A file beside the seed.
    package struct File: Sendable {
        /// The file's path from the seed's directory.
        package let path: String
        package let text: String
        /// Whether only the file's owner may read it.
        package let isPrivate: Bool

        package init(_ path: String, _ text: String, isPrivate: Bool = false) {
            self.path = path
            self.text = text
            self.isPrivate = isPrivate
        }
    }

    package static let secretsFile = "secrets.json"

    package let app: AppConfiguration
    /// The addresses to which web clients may be returned: usual addresses of frameworks on this machine, and those of
    /// projects.
    package let redirectURIs: [String]
    /// The contents of `seed.json`.
    package private(set) var seed: JSONObject
    /// The contents of `secrets.json`, which the app's owner keeps.
    package private(set) var secrets = JSONObject()
    package private(set) var files: [File] = []
    /// The purpose of each part, in Markdown.
    package private(set) var parts: [(member: String, about: String)] = []
    private let traces: [(name: String, trace: AppTrace)]

    /// Makes the seed for an app's configuration. `traces` has what each provider has found in the configuration, by the
    /// name of the provider's section.
    package init(_ app: AppConfiguration, traces: [(name: String, trace: AppTrace)]) {
        self.app = app
        self.traces = traces
        var handlers: [String] = []
        for (_, trace) in traces {
            if case .project(let uris) = trace { handlers += uris }
        }
        redirectURIs = StartingSeed.usualRedirectURIs + handlers
        seed = JSONObject([("$schema", "./schema.json"), ("accounts", StartingSeed.people)])
        parts = [
            (
                "accounts",
                "The people who can sign in: `ada`, `grace`, and `linus`, whose address nobody has verified."
            )
        ]
    }

    /// Returns whether the seed gets a section for the provider. All providers get one if nothing is known of the app,
    /// or if the app is a project, unless `ifNamed` requires that it names the provider itself.
    package func includes(_ section: String, ifNamed: Bool = false) -> Bool {
        guard app.isGiven else { return true }
        return traces.contains { name, trace in
            switch trace {
            case .nothing: false
            case .client: name == section
            case .project: !ifNamed || name == section
            }
        }
    }

    /// The default addresses of frameworks, at any port of this machine.
    private static let usualRedirectURIs = ["localhost", "127.0.0.1"].map { "http://\($0):*/callback" }

    private static let people: JSONValue = [
        ["id": "ada", "name": ["given": "Ada", "family": "Lovelace"], "email": "ada@example.com"],
        ["id": "grace", "name": ["given": "Grace", "family": "Hopper"], "email": "grace@example.com"],
        [
            "id": "linus", "name": ["given": "Linus", "family": "Unverified"], "email": "linus@example.net",
            "emailVerified": false,
        ],
    ]

    // MARK: - For the providers

    /// Sets a section. `about` is its purpose, in Markdown.
    package mutating func add(_ section: String, _ value: JSONValue, _ about: String) {
        seed[section] = value
        parts.append((section, about))
    }

    /// Sets a provider's profile of one of the people.
    package mutating func describe(person id: String, as profile: String, _ value: JSONValue) {
        let people = (seed["accounts"]?.array ?? []).map { person -> JSONValue in
            guard person["id"]?.string == id, var members = person.object else { return person }
            members[profile] = value
            return .object(members)
        }
        seed["accounts"] = .array(people)
    }

    /// Sets a section's secrets, which are the app's own: they are kept in a file of their own.
    package mutating func addSecrets(_ section: String, _ value: JSONValue) { secrets[section] = value }

    package mutating func addFile(_ path: String, _ text: String, isPrivate: Bool = false) {
        files.append(File(path, text, isPrivate: isPrivate))
    }

    /// Returns the member `key` of the first element of a section's list, for sections that come later.
    package func first(_ list: String, of section: String, _ key: String) -> JSONValue? {
        seed[section]?[list]?.array?.first?[key]
    }

    /// Returns the member `key` of every element of a section's list, for sections that come later.
    package func all(_ list: String, of section: String, _ key: String) -> [JSONValue] {
        (seed[section]?[list]?.array ?? []).compactMap { $0[key] }
    }

    /// Returns the addresses to which a provider's web client may be sent back: the one that the app names, those of
    /// `paths` at any port of this machine, where frameworks have them, and those of projects.
    package func redirectURIs(_ named: String?, paths: [String]) -> JSONValue {
        let usual = paths.map { "http://localhost:*\($0)" }
        var uris: [String] = []
        for uri in [named].compactMap({ $0 }) + redirectURIs + usual where !uris.contains(uri) { uris.append(uri) }
        return .array(uris.map { .string($0) })
    }
}

extension StartingSeed {
    /// The words of a provider with registered clients: its section's name, its word for a client, and an example.
    package struct ClientWords: Sendable {
        let section: String
        /// The word for a client: with `client`, the section has `clients`, each with `clientID` and `clientSecret`.
        let noun: String
        let exampleID: String
        let testSecret: String

        package init(section: String, noun: String, exampleID: String, testSecret: String) {
            self.section = section
            self.noun = noun
            self.exampleID = exampleID
            self.testSecret = testSecret
        }
    }

    /// The members of an app's client in place of redirect URIs.
    package struct AppClient: Sendable {
        let members: [(String, JSONValue)]
        let hasSecret: Bool

        package init(_ members: [(String, JSONValue)], hasSecret: Bool) {
            self.members = members
            self.hasSecret = hasSecret
        }
    }

    /// Adds a client to the section of a provider whose clients have an ID, a secret and redirect URIs. With `app`, the
    /// client is an app on a device, which may have no secret.
    package mutating func addClient(
        _ words: ClientWords, _ client: AppConfiguration.Client, paths: [String], app: AppClient? = nil
    ) {
        let (list, noun) = ("\(words.noun)s", words.noun)
        let id = client.id ?? words.exampleID
        var members: [(String, JSONValue)] = [("\(noun)ID", .string(id))]
        let hasSecret = app?.hasSecret ?? true
        if !hasSecret {
            // An app can't keep a secret.
        } else if let secret = client.secret {
            let secrets = JSONObject(members + [("\(noun)Secret", .string(secret))])
            addSecrets(words.section, .object(JSONObject([(list, .array([.object(secrets)]))])))
        } else {
            members.append(("\(noun)Secret", .string(words.testSecret)))
        }
        members += app?.members ?? [("redirectURIs", redirectURIs(client.redirectURI, paths: paths))]
        if var section = seed[words.section]?.object {
            section[list] = .array((section[list]?.array ?? []) + [.object(JSONObject(members))])
            seed[words.section] = .object(section)
            return
        }
        var about = "The \(noun) `\(id)`\(app == nil ? " and where it may be returned to" : "")."
        if client.secret != nil, hasSecret {
            about += " Its secret is in `\(StartingSeed.secretsFile)`; without that file it is `\(words.testSecret)`."
        } else if hasSecret {
            about += " Its secret is `\(words.testSecret)`."
        }
        add(words.section, .object(JSONObject([(list, .array([.object(JSONObject(members))]))])), about)
    }
}
