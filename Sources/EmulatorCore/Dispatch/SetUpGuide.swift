import Recordings

/// The addresses of the daemon for a client's configuration, in a world, and in the form in which the reader came.
package struct SetUpPlace: Sendable {
    /// The daemon's address in the world, without a slash at the end: `http://localhost:9099/~w1`.
    package let base: String
    /// A host with a port that leads to the world, such as `localhost:43123`, for clients that take nothing else; `nil`
    /// for a world that is named in the path and has no port of its own.
    package let authority: String?
    /// The seed of the world.
    package let seed: Seed

    package init(base: String, authority: String?, seed: Seed) {
        self.base = base
        self.authority = authority
        self.seed = seed
    }

    /// Returns the URL of `path` at a provider's host.
    package func url(_ host: String, _ path: String = "") -> String { "\(base)/\(host)\(path)" }

    /// The host of `authority`, and its port; 80 if it has none.
    package var hostAndPort: (host: String, port: String)? {
        authority.map { authority in
            let host = String(authority.prefix { $0 != ":" })
            let port = authority.dropFirst(host.count + 1)
            return (host, port.isEmpty ? "80" : String(port))
        }
    }
}

/// A guide that sets up a kind of client for the daemon.
package struct SetUpGuide: Sendable {
    /// A step of the guide, with what to write for it.
    package struct Step: Sendable {
        /// The instruction of the step, in one or more sentences.
        package let text: String
        /// The text to copy; `nil` for a step in which nothing is written.
        package let code: String?
        /// Addresses and other values for a client, by their purpose.
        package let values: [(name: String, value: String)]

        package init(_ text: String, _ code: String? = nil) {
            self.text = text
            self.code = code
            values = []
        }

        package init(_ text: String, values: [(name: String, value: String)]) {
            self.text = text
            self.values = values
            code = nil
        }
    }

    /// The configuration of a library or a framework.
    package struct Library: Sendable {
        package let name: String
        package let code: String

        package init(_ name: String, _ code: String) {
            self.name = name
            self.code = code
        }
    }

    /// The guide's ID, unique among all guides and part of a page's address: lower-case letters, digits and hyphens.
    package let id: String
    /// The kind of client that the guide is for.
    package let title: String
    /// A sentence about who should read it.
    package let about: String
    package let steps: [Step]
    package let libraries: [Library]
    /// The page of the documentation with details, below `docs/`.
    package let document: String
    /// Returns whether a request came from such a client.
    package let isArrival: @Sendable (RecordedExchange) -> Bool

    package init(
        id: String, title: String, about: String, steps: [Step], libraries: [Library] = [], document: String,
        isArrival: @escaping @Sendable (RecordedExchange) -> Bool
    ) {
        self.id = id
        self.title = title
        self.about = about
        self.steps = steps
        self.libraries = libraries
        self.document = document
        self.isArrival = isArrival
    }

    /// Returns a text of the seed as part of an ID.
    package static func name(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.lowercased().unicodeScalars.map { scalar in
                    ("a"..."z").contains(scalar) || ("0"..."9").contains(scalar) ? scalar : "-"
                }))
    }
}

/// A choice that a person has on a provider's sign-in page, beside whether to sign in at all.
package enum PersonalChoice: Sendable {
    /// Whether to share the address or hide it.
    case address
    /// The name that the app gets.
    case name
    /// The scopes that are granted.
    case scopes
}

/// Quotes texts as words of a POSIX shell's command line.
package enum ShellWord {
    /// Returns the text in single quotes, in which only the single quote itself has a meaning.
    package static func quoted(_ text: String) -> String {
        "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
    }
}
