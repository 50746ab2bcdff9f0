import JSON
import Recordings
import Text

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

    /// The host of `authority`, and its port; 80 if it has none.
    package var hostAndPort: (host: String, port: String)? {
        authority.map { authority in
            let host = String(authority.prefix { $0 != ":" })
            let port = authority.dropFirst(host.count + 1)
            return (host, port.isEmpty ? "80" : String(port))
        }
    }
}

/// A guide that sets up a kind of client for the daemon. Guides are Markdown, in the file `setup.md` of a target's `Assets`:
///
///     # Example, on the web
///
///     <!-- id: example, page: clients.md, requests: www.example.com api.example.com/v1 -->
///
///     For a web app. This paragraph says who should read the guide. Each further one is a step.
///
///     | for | address |
///     |---|---|
///     | token | {url www.example.com/token} |
///
///     A command or a line of code is a fenced block. A heading of the second level is a library with its configuration.
///
/// A name in braces stands for a value that the reader has: `{client}` as it is, `{shell client}` within single quotes
/// of a shell's command, `{json client}` within a JSON string there; `{url HOST/PATH}` stands for that address here.
/// A step with a value that is `nil` is left out. A guide called `{part NAME}` is shown where a paragraph says so.
package struct SetUpGuide: Sendable {
    /// A step of the guide, or the configuration of a library.
    package struct Step: Sendable {
        /// The instruction of the step, in one or more sentences; or the library's name.
        package fileprivate(set) var text: String
        /// The text to copy; `nil` for a step in which nothing is written.
        package fileprivate(set) var code: String?
        /// Addresses and other values for a client, by their purpose.
        package fileprivate(set) var values: [(name: String, value: String)] = []
    }

    /// Answers whether a request came from a kind of client.
    package typealias Arrival = @Sendable (RecordedExchange) -> Bool

    /// The guide's ID, unique among all guides and part of a page's address: lower-case letters, digits and hyphens.
    package let id: String
    /// The kind of client that the guide is for.
    package let title: String
    /// A sentence about who should read it.
    package let about: String
    package let steps: [Step]
    /// The configurations of libraries and frameworks.
    package let libraries: [Step]
    /// The page of the documentation with details, below `docs/`.
    package let document: String
    /// Returns whether a request came from such a client. The file says to which hosts, or paths, such clients send
    /// their requests; without, every request is one.
    package let isArrival: Arrival

    /// Reads the guides of a file. `arrivals` has, by their IDs, those whose requests can't be told by host and path.
    package static func read(
        _ text: StaticString, at place: SetUpPlace, _ values: [String: String?] = [:],
        arrivals: [String: Arrival] = [:]
    ) -> [SetUpGuide] {
        var reader = SetUpReader(place: place, values: values, arrivals: arrivals)
        var blocks = Markdown(parsing: "\(text)").blocks[...]
        var guides: [SetUpGuide] = []
        while case .heading(_, let title)? = blocks.popFirst() {
            let own = blocks.prefix { if case .heading(1, _) = $0 { false } else { true } }
            blocks = blocks.dropFirst(own.count)
            if let guide = reader.guide(title, own) { guides.append(guide) }
        }
        return guides
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

/// Makes guides from the blocks of a file.
private struct SetUpReader {
    let place: SetUpPlace
    let values: [String: String?]
    let arrivals: [String: SetUpGuide.Arrival]
    private var parts: [String: [SetUpGuide.Step]] = [:]

    init(place: SetUpPlace, values: [String: String?], arrivals: [String: SetUpGuide.Arrival]) {
        (self.place, self.values, self.arrivals) = (place, values, arrivals)
    }

    /// Returns the guide; `nil` for one that others show as a part of theirs.
    mutating func guide(_ title: String, _ blocks: ArraySlice<Markdown.Block>) -> SetUpGuide? {
        var facts: [String: String] = [:]
        var steps: [SetUpGuide.Step] = []
        var libraries: [SetUpGuide.Step] = []
        func change(_ body: (inout SetUpGuide.Step) -> Void) {
            if !libraries.isEmpty {
                body(&libraries[libraries.count - 1])
            } else if !steps.isEmpty {
                body(&steps[steps.count - 1])
            }
        }
        for block in blocks {
            switch block {
            case .paragraph(let text) where text.hasPrefix("<!-- "): facts = self.facts(text)
            case .paragraph(let text): steps += parts[text] ?? [SetUpGuide.Step(text: text)]
            case .heading(_, let text): libraries.append(SetUpGuide.Step(text: text))
            case .code(let text): change { $0.code = text }
            case .table(_, let rows): change { $0.values = rows.map { (name: $0[0], value: $0.last ?? "") } }
            case .list: break
            }
        }
        guard let id = facts["id"], let about = steps.first?.text else {
            parts[title] = steps
            return nil
        }
        let senders = (facts["requests"] ?? "").split(separator: " ")
        return SetUpGuide(
            id: id, title: filled(title) ?? "", about: about, steps: steps.dropFirst().compactMap(filled),
            libraries: libraries.compactMap(filled), document: facts["page"] ?? "",
            isArrival: arrivals[id] ?? { exchange in
                senders.isEmpty
                    || senders.contains { sender in
                        let host = sender.prefix { $0 != "/" }
                        return (host.isEmpty || host == exchange.host ?? "")
                            && exchange.path.hasPrefix(sender.dropFirst(host.count))
                    }
            })
    }

    /// Reads a comment of names and values.
    private func facts(_ comment: String) -> [String: String] {
        let pairs = (filled(comment) ?? "").dropFirst(5).dropLast(4).split(separator: ", ").map {
            ($0.prefix { $0 != ":" }, $0.drop { $0 != " " }.dropFirst())
        }
        return Dictionary(pairs.map { (String($0), String($1)) }) { first, _ in first }
    }

    private func filled(_ step: SetUpGuide.Step) -> SetUpGuide.Step? {
        guard let text = filled(step.text) else { return nil }
        var whole = SetUpGuide.Step(text: text)
        if let code = step.code {
            guard let code = filled(code) else { return nil }
            whole.code = code
        }
        for (name, value) in step.values {
            guard let value = filled(value) else { return nil }
            whole.values.append((name: name, value: value))
        }
        return whole
    }

    /// Returns a text with its values; `nil` if one has none.
    private func filled(_ text: String) -> String? {
        var isComplete = true
        let output = text.filled { inner in
            guard let value = value(inner) else { return nil }
            if value == nil { isComplete = false }
            return value ?? ""
        }
        return isComplete ? output : nil
    }

    /// Returns the value for a text in braces; `.some(nil)` for one without a value, and `nil` for other text in braces.
    private func value(_ inner: Substring) -> String?? {
        let words = inner.split(separator: " ", maxSplits: 1)
        guard let name = words.last.map(String.init) else { return nil }
        if words[0] == "url" { return words.count == 1 ? place.base : "\(place.base)/\(name)" }
        guard let value = values[name] else { return nil }
        switch words.count == 1 ? nil : words[0] {
        case nil: return value
        case "shell": return .some(value.map(ShellWord.inner))
        case "json":
            return .some(value.map { ShellWord.inner(String(JSONValue.string($0).text.dropFirst().dropLast())) })
        default: return nil
        }
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
    package static func quoted(_ text: String) -> String { "'\(inner(text))'" }

    /// Returns the text between single quotes.
    static func inner(_ text: String) -> String {
        text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#)
    }
}
