import JSON
import Recordings
import Text

/// The addresses at which an app's client finds the daemon in one test world, for use in the app's configuration.
package struct SetUpPlace: Sendable {
    /// The daemon's base URL for the test world, without a slash at the end: `http://localhost:9099/~w1`.
    package let base: String
    /// The host and port that lead to the test world, such as `localhost:43123`, for clients that accept no URL with a
    /// path. `nil` if only URLs with a path lead to the world.
    package let authority: String?
    /// The seed (the configured people and clients) of the test world.
    package let seed: Seed

    package init(base: String, authority: String?, seed: Seed) {
        self.base = base
        self.authority = authority
        self.seed = seed
    }

    /// The two parts of `authority`: the host, and the port, which is 80 if `authority` names none.
    package var hostAndPort: (host: String, port: String)? {
        authority.map { authority in
            let host = String(authority.prefix { $0 != ":" })
            let port = authority.dropFirst(host.count + 1)
            return (host, port.isEmpty ? "80" : String(port))
        }
    }
}

/// A guide that explains how to set up a kind of client so that it uses the daemon. Guides are Markdown, in the file
/// `setup.md` of a target's `Assets`:
///
///     # Example, on the web
///
///     <!-- id: example, page: clients.md, requests: www.example.com api.example.com/v1 -->
///
///     For a web app. This paragraph says who should read the guide. Each later paragraph is a step of the guide.
///
///     | for | address |
///     |---|---|
///     | token | {url www.example.com/token} |
///
///     A command or a line of code is a fenced block. A heading of the second level is a library with its
///     configuration.
///
/// A name in braces is replaced by a value. The client's ID is `{client}`. Between single quotes in a shell's command,
/// it is `{shell client}`, or `{json client}` inside a JSON string. `{url HOST/PATH}` is replaced by the daemon's
/// address for that URL. A step with a value that is `nil` is left out. A section without an ID, such as one with the
/// heading `{part NAME}`, is no guide. A later guide includes the steps of this section by a paragraph that repeats the
/// heading `{part NAME}`.
package struct SetUpGuide: Sendable {
    /// A step of a set-up guide, or the configuration of a library.
    package struct Step: Sendable {
        /// The instruction of a set-up guide's step, in one or more sentences. If the step shows the configuration of a
        /// library, the text is only the library's name.
        package fileprivate(set) var text: String
        /// The text to copy in a step of a set-up guide, such as a command; `nil` for a step without such a text.
        package fileprivate(set) var code: String?
        /// The addresses and other values that a set-up guide's step shows, each with its purpose.
        package fileprivate(set) var values: [(name: String, value: String)] = []
    }

    /// A function that returns whether a recorded request came from the kind of client that a set-up guide is for.
    package typealias Arrival = @Sendable (RecordedExchange) -> Bool

    /// The ID of a set-up guide, unique among all guides and part of a page's address: lower-case letters, digits and
    /// hyphens.
    package let id: String
    package let title: String
    /// A sentence about who should read the set-up guide.
    package let about: String
    package let steps: [Step]
    /// The configurations of libraries and frameworks that a set-up guide shows after its steps.
    package let libraries: [Step]
    /// The documentation page with details about a set-up guide, as a path below `docs/`.
    package let document: String
    /// Returns whether a request came from the kind of client that the set-up guide is for. The caller that reads a
    /// guide's file can supply this function. If the caller supplies none, the guide's file lists the hosts and paths
    /// to which such clients send requests. Without a list, every request counts.
    package let isArrival: Arrival

    /// Reads the set-up guides of a Markdown file. `arrivals` contains functions that recognize requests of a guide's
    /// clients. Their keys are the IDs of the guides. For a guide without such a function, requests are recognized by
    /// the guide's list of hosts and paths.
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

    /// Returns `text` in a form that can be part of a set-up guide's ID: lower-case letters, digits and hyphens.
    package static func name(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.lowercased().unicodeScalars.map { scalar in
                    ("a"..."z").contains(scalar) || ("0"..."9").contains(scalar) ? scalar : "-"
                }))
    }
}

private struct SetUpReader {
    let place: SetUpPlace
    let values: [String: String?]
    let arrivals: [String: SetUpGuide.Arrival]
    private var parts: [String: [SetUpGuide.Step]] = [:]

    init(place: SetUpPlace, values: [String: String?], arrivals: [String: SetUpGuide.Arrival]) {
        (self.place, self.values, self.arrivals) = (place, values, arrivals)
    }

    /// Reads the section `title` of a Markdown file as a set-up guide. A section without an ID is no guide: its steps
    /// are kept for the guides that include them, and the result is `nil`.
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

    /// Reads a Markdown comment that lists names and values, such as `<!-- id: example, page: clients.md -->`.
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

    /// Returns a text with values in place of the names in braces; `nil` if one of the names has no value.
    private func filled(_ text: String) -> String? {
        var isComplete = true
        let output = text.filled { inner in
            guard let value = value(inner) else { return nil }
            if value == nil { isComplete = false }
            return value ?? ""
        }
        return isComplete ? output : nil
    }

    /// Returns the value for `inner`, a text between braces: `.some(nil)` for a known name without a value, and `nil`
    /// for a text that is no known name.
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

/// A choice that a person makes on a provider's sign-in page besides whether to sign in at all.
package enum PersonalChoice: Sendable {
    /// Whether the person shares the e-mail address with the app or hides it.
    case address
    /// The person's name that the app gets.
    case name
    /// The OAuth scopes that the person grants to the app.
    case scopes
}

/// Quotes texts as words of a POSIX shell's command line.
package enum ShellWord {
    /// Returns the text with single quotes around it, so that a shell reads it as one word.
    package static func quoted(_ text: String) -> String { "'\(inner(text))'" }

    /// Returns a text escaped so that it can stand between single quotes of a shell's command.
    static func inner(_ text: String) -> String {
        text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#)
    }
}
