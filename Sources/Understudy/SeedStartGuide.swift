import EmulatorCore

/// The `README.md` of a first seed.
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
                    + "`.gitignore` keeps it out of the repository: where it is missing, the test secrets hold that are named above |"
            )
        }
        return rows.joined(separator: "\n")
    }
}
