import ArgumentParser
import JSON
import Understudy

/// Prints the manual page. `make install` writes it to `understudy.1`.
struct ManualCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "manual", abstract: "Print the manual page, for man(1).", shouldDisplay: false)

    func run() throws {
        let tool = try JSONValue(parsing: Array(UnderstudyCommand._dumpHelp().utf8), limits: .answer)
        var page = ManualPage()
        page.describe(tool["command"] ?? .null, version: Version.current)
        Terminal.print(String(page.text.dropLast()))
    }
}

/// A manual page in the man macros, made from the argument parser's description of the commands.
/// <https://man7.org/linux/man-pages/man7/man.7.html>
struct ManualPage {
    private static let manyOptions = 6

    private(set) var text = ""
    /// The last described command with many options, and its options in `told`.
    private var former = ""
    private var told: [JSONValue] = []

    mutating func describe(_ tool: JSONValue, version: String) {
        let name = tool["commandName"]?.string ?? ""
        // The page has no date, so that two builds give the same page.
        text += ".TH \(name.uppercased()) 1 \"\" \"\(name) \(version)\" \"User Commands\"\n"
        section("NAME")
        line("\(name) - \(ManualPage.phrase(tool["abstract"]?.string ?? ""))")
        section("SYNOPSIS")
        text += ".B \(name)\n.I command\n.RI [ option \" ...]\"\n"
        section("DESCRIPTION")
        line(
            "One small daemon plays Sign in with Apple, GitHub, Google, Facebook, OpenID Connect issuers and Firebase "
                + "Authentication, so that an app's sign-in code runs with no network, no accounts and no secrets. It signs "
                + "anyone in as anyone: it is for tests only, never for production.")
        section("COMMANDS")
        for command in ManualPage.shown(tool["subcommands"]) { describe(command: command) }
        section("ENVIRONMENT")
        line(tool["discussion"]?.string ?? "")
        section("EXIT STATUS")
        line(
            "0 when all is well, 1 when something is wrong that a line on standard error names, 64 when the command line "
                + "is wrong. \(name) exec ends with the status of its command.")
        section("EXAMPLES")
        example("\(name) serve", "The daemon with its built-in seed, on http://localhost:9099.")
        example("\(name) seed init --from .env", "A seed with the clients that an app's variables name.")
        example("\(name) exec -- npm test", "A command with a daemon of its own.")
    }

    private mutating func describe(command: JSONValue) {
        let commands = ManualPage.shown(command["subcommands"])
        guard commands.isEmpty else {
            for command in commands { describe(command: command) }
            return
        }
        let names =
            (command["superCommands"]?.array ?? []).compactMap(\.string) + [command["commandName"]?.string ?? ""]
        let arguments = ManualPage.shown(command["arguments"])
        text += ".SS \(ManualPage.escape(names.joined(separator: " ")))\n"
        for field in ["abstract", "discussion"] {
            guard let words = command[field]?.string else { continue }
            line(words)
            text += ".PP\n"
        }
        // `exec` has the options of the command before it, which aren't repeated.
        let repeated = arguments.filter { told.contains($0) }
        if repeated.count > ManualPage.manyOptions {
            line("It takes the options of \(former), too.")
        }
        for argument in arguments where repeated.count <= ManualPage.manyOptions || !repeated.contains(argument) {
            describe(argument: argument)
        }
        if arguments.count > ManualPage.manyOptions { (former, told) = (names.joined(separator: " "), arguments) }
    }

    private mutating func describe(argument: JSONValue) {
        let names = (argument["names"]?.array ?? []).map { name in
            (name["kind"]?.string == "long" ? "--" : "-") + (name["name"]?.string ?? "")
        }
        // These two options are in every command.
        guard !names.contains("--help"), !names.contains("--version") else { return }
        let value = argument["valueName"]?.string ?? ""
        text += ".TP\n"
        switch argument["kind"]?.string {
        case "positional": text += ".I \(ManualPage.escape(value))\n"
        case "flag": text += ".B \(ManualPage.escape(names.joined(separator: ", ")))\n"
        default: text += ".BI \(ManualPage.quote(names.joined(separator: ", ") + " ")) \(ManualPage.quote(value))\n"
        }
        let fallback = argument["defaultValue"]?.string.map { " (default: \($0))" } ?? ""
        line((argument["abstract"]?.string ?? "") + fallback)
    }

    // MARK: - Macros

    private mutating func section(_ title: String) { text += ".SH \(title)\n" }

    private mutating func example(_ command: String, _ about: String) {
        text += ".TP\n.B \(ManualPage.escape(command))\n"
        line(about)
    }

    private mutating func line(_ words: String) {
        for part in words.split(separator: "\n") { text += ManualPage.escape(String(part)) + "\n" }
    }

    private static func shown(_ list: JSONValue?) -> [JSONValue] {
        (list?.array ?? []).filter { $0["shouldDisplay"]?.bool ?? true && $0["commandName"]?.string != "help" }
    }

    /// Returns a sentence in the form of a manual's first line: no capital, no full stop.
    private static func phrase(_ sentence: String) -> String {
        let words = sentence.hasSuffix(".") ? String(sentence.dropLast()) : sentence
        return words.prefix(1).lowercased() + words.dropFirst()
    }

    /// Escapes text. A backslash begins an escape, a dot or an apostrophe at the beginning a macro, and a hyphen may be
    /// printed as another character.
    static func escape(_ text: String) -> String {
        var escaped = text.hasPrefix(".") || text.hasPrefix("'") ? "\\&" : ""
        for character in text.unicodeScalars {
            switch character {
            case "\\": escaped += "\\e"
            case "-": escaped += "\\-"
            case "~": escaped += "\\(ti"
            case "^": escaped += "\\(ha"
            case "\"": escaped += "\\(dq"
            default: escaped.unicodeScalars.append(character)
            }
        }
        return escaped
    }

    private static func quote(_ text: String) -> String { "\"\(escape(text))\"" }
}
