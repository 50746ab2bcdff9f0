import EmulatorCore
import JOSE
import JSON

/// The files of a project's first seed (its test data), which `understudy seed init` writes.
package struct SeedStart: Sendable {
    package typealias File = StartingSeed.File

    package let files: [File]
    /// Whether the new seed's files contain secrets of the app.
    package let hasSecrets: Bool
    /// The reasons why the app won't work with the new seed as it is, and what to do.
    package let warnings: [String]

    /// Makes a project's first seed (its test data) from an app's configuration.
    ///
    /// - Parameter paths: `GoogleService-Info.plist`, `google-services.json`, a web app's Firebase configuration in
    ///   JSON, or an `.env` file. Without a path, the seed is an example with a client of every kind.
    /// - Throws: ``StartError`` if a file can't be read, or if the files name no client.
    package init(from paths: [String]) throws {
        let app = AppConfiguration(merging: try paths.map { try SeedStart.configuration(at: $0) })
        let starters = Providers.all.compactMap { $0 as? any StartsSeeds.Type }
        let traces = starters.map { (name: $0.facts.section?.name ?? "", trace: $0.trace(in: app)) }
        guard !app.isGiven || traces.contains(where: { !$0.trace.isNothing }) else {
            throw StartError(description: SeedStart.nothingFound(in: app))
        }
        var start = StartingSeed(app, traces: traces)
        do {
            for starter in starters { try starter.begin(&start) }
        } catch {
            throw StartError(description: "a test key for the seed can't be generated: \(error)")
        }
        hasSecrets = !start.secrets.isEmpty
        warnings = start.warnings
        files = SeedStart.files(of: start)
        try check()
    }

    private static func configuration(at path: String) throws(StartError) -> AppConfiguration {
        do {
            let bytes = try EmulatorCore.File.read(path, limit: AppConfiguration.limit)
            return try AppConfiguration(name: path, bytes: bytes)
        } catch let error as AppConfiguration.Malformed {
            throw StartError(description: "\(path): \(error)")
        } catch {
            throw StartError(description: "\(error)")
        }
    }

    private static func nothingFound(in app: AppConfiguration) -> String {
        let known = "GOOGLE_CLIENT_ID, AUTH_GITHUB_ID, APPLE_TEAM_ID, OIDC_ISSUER or FIREBASE_PROJECT_ID"
        let names = app.names.prefix(6).joined(separator: ", ")
        return "\(app.name ?? ""): the configuration has no entry for a provider's client, such as \(known)"
            + (names.isEmpty ? "; it is empty" : "; it has \(names)\(app.names.count > 6 ? ", …" : "")")
    }

    private static func files(of start: StartingSeed) -> [File] {
        var files = [
            File("seed.json", JSONValue.object(start.seed).indented() + "\n"),
            File("schema.json", SeedInput.schema),
            File("README.md", SeedStartGuide.text(start)),
        ]
        guard !start.secrets.isEmpty else { return files + start.files }
        let secrets = JSONValue.object(start.secrets).indented() + "\n"
        files.append(File(StartingSeed.secretsFile, secrets, isPrivate: true))
        files.append(File(ignoreFile, "\(StartingSeed.secretsFile)\n"))
        return files + start.files
    }

    /// Checks the seed that was made from an app's configuration. The configuration may contain a value that no seed
    /// can have, such as a Team ID of the wrong length.
    private func check() throws {
        let sources = files.filter { $0.path.hasSuffix(".json") && $0.path != "schema.json" }
        let texts = Dictionary(files.map { ($0.path, $0.text) }, uniquingKeysWith: { first, _ in first })
        do throws(Issues) {
            _ = try Seed(
                sources.map { file in
                    SeedSource(name: file.path, bytes: Array(file.text.utf8)) { name in Array((texts[name] ?? "").utf8)
                    }
                }, format: Providers.seedFormat)
        } catch {
            throw StartError(description: "the configuration has values that a seed can't have:\n\(error.description)")
        }
    }

    private static let ignoreFile = ".gitignore"

    /// Returns the new content of a `.gitignore`: its present content, with `line` added if the content lacks that
    /// line.
    private static func ignoring(_ line: String, at path: String) throws(EmulatorCore.File.Failure) -> String {
        guard EmulatorCore.File.exists(path) else { return line }
        let present = try EmulatorCore.File.text(at: path)
        if present.split(separator: "\n").contains(line.dropLast()) { return present }
        return present.isEmpty || present.hasSuffix("\n") ? present + line : "\(present)\n\(line)"
    }

    /// Writes all files of the new seed into a directory, which is created if necessary.
    ///
    /// - Throws: ``StartError`` if a file can't be written; if `replacing` is false and a file other than `.gitignore`
    ///   already exists; if `replacing` is true and `secrets.json` belongs to another app.
    package func write(to directory: String, replacing: Bool) throws(StartError) {
        let secrets = "\(directory)/\(StartingSeed.secretsFile)"
        if replacing, !hasSecrets, EmulatorCore.File.exists(secrets) {
            throw StartError(
                description:
                    "no file is written: \(secrets) belongs to another app and would become part of this seed: remove that file"
            )
        }
        let present = files.filter { $0.path != SeedStart.ignoreFile }.map { "\(directory)/\($0.path)" }.filter {
            EmulatorCore.File.exists($0)
        }
        guard replacing || present.isEmpty else {
            let names = present.joined(separator: ", ")
            throw StartError(
                description:
                    "no file is written: \(names) already exist\(present.count == 1 ? "s" : "") (--force replaces files)"
            )
        }
        do throws(EmulatorCore.File.Failure) {
            let folder = files.contains { $0.path.hasPrefix("keys/") } ? "\(directory)/keys" : directory
            try EmulatorCore.File.makeDirectory(folder, mode: 0o755)
            for file in files {
                let path = "\(directory)/\(file.path)"
                let text = file.path == SeedStart.ignoreFile ? try SeedStart.ignoring(file.text, at: path) : file.text
                try EmulatorCore.File.write(text.utf8, to: path, mode: file.isPrivate ? 0o600 : 0o644)
            }
        } catch {
            throw StartError(description: error.description)
        }
    }
}

extension AppTrace {
    fileprivate var isNothing: Bool {
        if case .nothing = self { true } else { false }
    }
}

/// The `README.md` that `understudy seed init` writes beside a project's first seed (its test data).
enum SeedStartGuide {
    static func text(_ start: StartingSeed) -> String {
        let parts = start.parts.map { "| `\($0.member)` | \($0.about) |" }.joined(separator: "\n")
        return """
            # Seed for Understudy

            People, clients and keys that a stand-in identity provider knows, for tests only. It was made by `understudy seed init`
            and is yours to change: `seed.json` says what there is, and `$schema` in it lets editors help.

                understudy serve --seed .        # from this directory
                understudy seed check .          # after a change

            | in `seed.json` | what it is for |
            |---|---|
            \(parts)

            A redirect URI with `:*` holds for any port. An app is sent to the daemon by its base URLs, by
            `understudy exec -- COMMAND`, or by the proxy; the control API at `/_understudy/v1/` makes sign-ins fail on order.

            | file | what it is |
            |---|---|
            | `schema.json` | the JSON Schema of a seed file |
            \(files(start))

            """
    }

    private static func files(_ start: StartingSeed) -> String {
        var rows = start.files.map { file in
            let what = file.isPrivate ? "a test key, made for this seed" : "its public half"
            return "| `\(file.path)` | \(what) |"
        }
        if !start.secrets.isEmpty {
            rows.append(
                "| `\(StartingSeed.secretsFile)` | client secrets that were in the app's configuration, so that the app works as it is. "
                    + "`.gitignore` keeps it out of the repository: where it is missing, the test secrets named above apply |"
            )
        }
        return rows.joined(separator: "\n")
    }
}
