import JOSE
import JSON

/// A provider that can write its section of the seed that `understudy seed init` makes for an app.
package protocol StartsSeeds: Provider {
    /// Returns whether an app's configuration has a client at this provider, a project at this provider, or neither.
    static func trace(in app: AppConfiguration) -> AppTrace

    /// Adds the provider's section to the seed for an app. The section has the clients in the app's configuration
    /// (`start.app`), or example clients if there is no configuration.
    static func begin(_ start: inout StartingSeed) throws(KeyError)
}

/// Whether an app's configuration has a client at a provider, a project at the provider, or neither.
package enum AppTrace: Sendable {
    case nothing
    case client
    /// The app has a project (at Firebase, for example), whose users may sign in at any provider. Providers send the
    /// users back to `redirectURIs`.
    case project(redirectURIs: [String])
}

/// The seed that `understudy seed init` makes for an app, while it is put together. Each provider adds its section.
package struct StartingSeed: Sendable {
    /// A file that `understudy seed init` writes in addition to the seed.
    package struct File: Sendable {
        /// The path of a file that `understudy seed init` writes in addition to the seed, relative to the seed's
        /// directory.
        package let path: String
        package let text: String
        /// Whether the file is written with permissions that let only its owner read it.
        package let isPrivate: Bool

        package init(_ path: String, _ text: String, isPrivate: Bool = false) {
            self.path = path
            self.text = text
            self.isPrivate = isPrivate
        }
    }

    package static let secretsFile = "secrets.json"

    package let app: AppConfiguration
    /// The redirect URIs of the app's projects (at Firebase, for example).
    package let projectRedirectURIs: [String]
    /// The contents of the file `seed.json`.
    package private(set) var seed: JSONObject
    /// The contents of the file `secrets.json`, which has the app's real client secrets and isn't shared.
    package private(set) var secrets = JSONObject()
    package private(set) var files: [File] = []
    /// The reasons why a client in the app's configuration won't work with the new seed as it is, and what to do.
    package private(set) var warnings: [String] = []
    /// The members of the seed, each with a Markdown text about its purpose.
    package private(set) var parts: [(member: String, about: String)] = []
    private let traces: [(name: String, trace: AppTrace)]

    /// Makes a seed for an app from its configuration. For each provider, `traces` has the name of the provider's
    /// section in the seed, and whether the configuration has a client or a project at the provider.
    package init(_ app: AppConfiguration, traces: [(name: String, trace: AppTrace)]) {
        self.app = app
        self.traces = traces
        var handlers: [String] = []
        for (_, trace) in traces {
            if case .project(let uris) = trace { handlers += uris }
        }
        projectRedirectURIs = handlers
        seed = JSONObject([("$schema", "./schema.json"), ("accounts", StartingSeed.people)])
        parts = [
            (
                "accounts",
                "The users who can sign in: `ada`, `grace`, and `linus`, whose e-mail address isn't verified."
            )
        ]
    }

    /// Returns whether the seed for an app gets a provider's section. Without a configuration of the app, the seed gets
    /// all sections. Otherwise, it gets the section if the configuration has a client or a project at the provider. A
    /// project at any other provider is enough if `ifNamed` is false, because its users may sign in at any provider.
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

    /// The usual redirect URIs of web frameworks, at any port of this machine.
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

    /// Adds a provider's section to the seed. `about` describes the section's purpose in the seed's README, in
    /// Markdown.
    package mutating func add(_ section: String, _ value: JSONValue, _ about: String) {
        seed[section] = value
        parts.append((section, about))
    }

    package mutating func describe(person id: String, as profile: String, _ value: JSONValue) {
        let people = (seed["accounts"]?.array ?? []).map { person -> JSONValue in
            guard person["id"]?.string == id, var members = person.object else { return person }
            members[profile] = value
            return .object(members)
        }
        seed["accounts"] = .array(people)
    }

    /// Sets, in the file `secrets.json`, the app's real client secrets for one provider. `section` is the name of the
    /// provider's section in the seed.
    package mutating func addSecrets(_ section: String, _ value: JSONValue) { secrets[section] = value }

    package mutating func addFile(_ path: String, _ text: String, isPrivate: Bool = false) {
        files.append(File(path, text, isPrivate: isPrivate))
    }

    package mutating func warn(_ warning: String) { warnings.append(warning) }

    /// Returns the member `key` of the first element of the list `list` in the seed's section `section`; `nil` if the
    /// section hasn't been added yet.
    package func first(_ list: String, of section: String, _ key: String) -> JSONValue? {
        seed[section]?[list]?.array?.first?[key]
    }

    /// Returns the member `key` of every element of the list `list` in the seed's section `section`. Returns none if
    /// the section hasn't been added yet.
    package func all(_ list: String, of section: String, _ key: String) -> [JSONValue] {
        (seed[section]?[list]?.array ?? []).compactMap { $0[key] }
    }

    /// Returns the redirect URIs of a provider's web client, without repetitions. They are the argument `named` (a URI
    /// from the app's configuration), and those of the app's projects. If `named` is `nil`, they are the usual `paths`
    /// of web frameworks at any port of this machine, and those of the app's projects.
    package func redirectURIs(_ named: String?, paths: [String]) -> JSONValue {
        let own = named.map { [$0] } ?? (StartingSeed.usualRedirectURIs + paths.map { "http://localhost:*\($0)" })
        var uris: [String] = []
        for uri in own + projectRedirectURIs where !uris.contains(uri) { uris.append(uri) }
        return .array(uris.map { .string($0) })
    }
}

extension StartingSeed {
    /// The texts with which a provider's client is written into a new seed: the name of the provider's section, the
    /// provider's word for a client, an example of a client ID, and a client secret for tests.
    package struct ClientWords: Sendable {
        let section: String
        /// The provider's word for a client, such as `client`. Names in the provider's section of the seed are made of
        /// this word: `clients`, `clientID` and `clientSecret`.
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

    /// A client that is an app on a device. In the seed's JSON, it has other members in place of redirect URIs.
    package struct AppClient: Sendable {
        let members: [(String, JSONValue)]
        let hasSecret: Bool

        package init(_ members: [(String, JSONValue)], hasSecret: Bool) {
            self.members = members
            self.hasSecret = hasSecret
        }
    }

    /// Adds a client to a provider's section of the seed. The client has an ID, a secret and redirect URIs. If `app` is
    /// given, the client is an app on a device, which has other members in place of redirect URIs and may have no
    /// secret. `webMembers` are further members of other clients.
    package mutating func addClient(
        _ words: ClientWords, _ client: AppConfiguration.Client, paths: [String],
        webMembers: [(String, JSONValue)] = [], app: AppClient? = nil
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
        members += app?.members ?? [("redirectURIs", redirectURIs(client.redirectURI, paths: paths))] + webMembers
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
