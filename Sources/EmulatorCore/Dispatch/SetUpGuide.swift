/// Where a client finds the daemon: in the world, and in the form of address, in which somebody asks.
package struct SetUpPlace: Sendable {
    /// The daemon's address in the world, without a slash at the end: `http://localhost:9099/~w1`.
    package let base: String
    /// What leads to the world by a host and a port alone, such as `localhost:43123`, for clients that take nothing else; `nil`
    /// for a world that is named in the path and has no port of its own.
    package let authority: String?
    /// What the world was made of.
    package let seed: Seed

    package init(base: String, authority: String?, seed: Seed) {
        self.base = base
        self.authority = authority
        self.seed = seed
    }

    /// Where `path` of a provider's host is.
    package func url(_ host: String, _ path: String = "") -> String { "\(base)/\(host)\(path)" }

    /// The host of `authority`, and its port; 80 where it has none.
    package var hostAndPort: (host: String, port: String)? {
        authority.map { authority in
            let host = String(authority.prefix { $0 != ":" })
            let port = authority.dropFirst(host.count + 1)
            return (host, port.isEmpty ? "80" : String(port))
        }
    }
}

/// How a kind of client is led to the daemon.
package struct SetUpGuide: Sendable {
    /// What is to be done, and what to write for it.
    package struct Step: Sendable {
        /// A sentence, or some.
        package let text: String
        /// To be copied as it stands; `nil` for a step in which nothing is written.
        package let code: String?
        /// Addresses, or what else a client is to be given, with what each is for.
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

    /// What a library or a framework wants to be told.
    package struct Library: Sendable {
        package let name: String
        package let code: String

        package init(_ name: String, _ code: String) {
            self.name = name
            self.code = code
        }
    }

    /// Lower-case letters, digits and hyphens, unique among all guides: part of a page's address.
    package let id: String
    /// The kind of client.
    package let title: String
    /// Who should read it, in a sentence.
    package let about: String
    package let steps: [Step]
    package let libraries: [Library]
    /// The page of the documentation that says more, below `docs/`.
    package let document: String
    /// Whether a request came from such a client.
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

    /// A text of the seed as part of an ID.
    package static func name(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.lowercased().unicodeScalars.map { scalar in
                    ("a"..."z").contains(scalar) || ("0"..."9").contains(scalar) ? scalar : "-"
                }))
    }
}

/// What a person can choose on a provider's sign-in page, beside whether to sign in at all.
package enum PersonalChoice: Sendable {
    /// Share the address or hide it.
    case address
    /// The name that the app is told.
    case name
    /// Which of the scopes are granted.
    case scopes
}

/// A text as a word of a POSIX shell's command line.
package enum ShellWord {
    /// In single quotes, in which nothing has a meaning but the single quote itself.
    package static func quoted(_ text: String) -> String {
        "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
    }
}
