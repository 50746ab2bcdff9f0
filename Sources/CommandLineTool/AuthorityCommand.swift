import ArgumentParser
import Understudy

struct AuthorityCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ca", abstract: "The local certificate authority, for HTTPS.",
        discussion:
            "It may vouch for the hosts that the daemon plays and for this machine alone, and nothing installs it by itself.",
        subcommands: [Init.self, Path.self, InstallHint.self])

    struct Folder: ParsableArguments {
        @Option(
            help: ArgumentHelp(
                "The authority's folder. (default: understudy in XDG_DATA_HOME, or ~/.local/share)", valueName: "path"),
            completion: .file())
        var caDirectory: String?

        var authority: LocalAuthority {
            LocalAuthority(directory: caDirectory ?? Environment.value("CA_DIRECTORY"))
        }

        /// Returns the authority. If there is none, the error says how to create it.
        func existing() throws -> LocalAuthority {
            guard authority.exists else {
                let place =
                    authority.directory.isEmpty
                    ? ": set HOME or XDG_DATA_HOME to an absolute path, or give --ca-directory"
                    : " in \(authority.directory): run \"understudy ca init\""
                Terminal.complain("understudy: there is no authority\(place)")
                throw ExitCode(1)
            }
            return authority
        }
    }

    struct Init: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "init", abstract: "Make the authority: P-256, ten years, its key readable by you alone.")

        @OptionGroup var folder: Folder

        @Flag(help: "Replace the one there is; clients must trust the new one anew.")
        var force = false

        @Option(
            name: .customLong("seed"),
            help: ArgumentHelp("Seed files, for whose hosts it may vouch, too.", valueName: "path"), completion: .file()
        )
        var seeds: [String] = []

        func run() throws {
            let authority = folder.authority
            do { try authority.make(replacing: force, seeds: seeds.map { .path($0) }) } catch {
                Terminal.complain("understudy: \(error)")
                throw ExitCode(1)
            }
            Terminal.print(authority.certificatePath)
            Terminal.complain("How to trust it: understudy ca install-hint")
        }
    }

    struct Path: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "path", abstract: "Print the path of the authority's certificate.")

        @OptionGroup var folder: Folder

        func run() throws { Terminal.print(try folder.existing().certificatePath) }
    }

    struct InstallHint: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "install-hint", abstract: "Print how each platform and runtime comes to trust it.")

        @OptionGroup var folder: Folder

        func run() throws {
            let authority = try folder.existing()
            for hint in TrustHint.all {
                Terminal.print("# \(hint.place)\(hint.note.isEmpty ? "" : ": \(hint.note)")")
                for command in hint.commands(authority.certificatePath) { Terminal.print(command) }
                Terminal.print("")
            }
        }
    }
}
