import ArgumentParser
import EmulatorCore
import Platform
import Understudy

struct AuthorityCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ca", abstract: "Manage the local certificate authority for HTTPS.",
        discussion:
            "The authority can certify only this machine and the hosts that the daemon impersonates. It is never installed automatically.",
        subcommands: [Init.self, Path.self, InstallHint.self])

    struct Folder: ParsableArguments {
        @Option(
            help: ArgumentHelp(
                "The certificate authority's folder. (default: XDG_DATA_HOME/understudy, or ~/.local/share/understudy)",
                valueName: "path"),
            completion: .file())
        var caDirectory: String?

        var authority: LocalAuthority {
            LocalAuthority(directory: caDirectory ?? Environment.value("CA_DIRECTORY"))
        }

        /// Returns the user's local certificate authority. If there is none, the error says how to create it.
        func existing() throws -> LocalAuthority {
            guard authority.exists else {
                let place =
                    authority.directory.isEmpty
                    ? ": set HOME or XDG_DATA_HOME to an absolute path, or give --ca-directory"
                    : " in \(authority.directory): run \"understudy ca init\""
                Terminal.complain("understudy: there is no certificate authority\(place)")
                throw ExitCode(1)
            }
            return authority
        }
    }

    struct Init: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "init",
            abstract: "Create the certificate authority: P-256, valid for ten years, its key readable only by you.")

        @OptionGroup var folder: Folder

        @Flag(help: "Replace an existing authority; clients must then trust the new certificate.")
        var force = false

        @Option(
            name: .customLong("seed"),
            help: ArgumentHelp(
                "Seed files with further hosts for which the authority may issue certificates.", valueName: "path"),
            completion: .file()
        )
        var seeds: [String] = []

        func run() throws {
            let authority = folder.authority
            do { try authority.make(replacing: force, seeds: seeds.map { .path($0) }) } catch {
                Terminal.complain("understudy: \(error)")
                throw ExitCode(1)
            }
            Terminal.print(authority.certificatePath)
            Terminal.complain("How to trust the certificate: understudy ca install-hint")
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
            commandName: "install-hint", abstract: "Print how to make each platform and runtime trust the authority.")

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

/// Instructions for making a platform or a runtime trust the local certificate authority.
struct TrustHint: Sendable {
    let place: String
    let note: String
    /// A function that returns the shell commands for trusting the certificate authority. Its argument is the path of
    /// the authority's certificate.
    let commands: @Sendable (String) -> [String]

    private init(_ place: String, _ note: String = "", _ commands: @escaping @Sendable (String) -> [String]) {
        self.place = place
        self.note = note
        self.commands = commands
    }

    /// The instructions for trusting the local certificate authority. Instructions for one program, such as curl, come
    /// before those for a whole platform, because they don't change what the rest of the machine trusts.
    static let all: [TrustHint] = [
        TrustHint("curl") { ["export CURL_CA_BUNDLE=\($0)"] },
        TrustHint("OpenSSL (in Ruby, PHP), and Go on Linux, read this file instead of the system's certificate file") {
            ["export SSL_CERT_FILE=\($0)"]
        },
        TrustHint("Python, requests and httpx") { ["export REQUESTS_CA_BUNDLE=\($0)", "export SSL_CERT_FILE=\($0)"] },
        TrustHint("Node.js", "this setting makes Node.js trust the authority besides the built-in certificates") {
            ["export NODE_EXTRA_CA_CERTS=\($0)"]
        },
        TrustHint("git") { ["export GIT_SSL_CAINFO=\($0)"] },
        TrustHint(
            "Java", "these commands make Java read a new truststore (password \"changeit\") instead of its own"
        ) {
            [
                "keytool -importcert -noprompt -alias understudy -file \($0) -keystore understudy.p12 -storetype PKCS12 -storepass changeit",
                "export JAVA_TOOL_OPTIONS=\"-Djavax.net.ssl.trustStore=understudy.p12 -Djavax.net.ssl.trustStorePassword=changeit\"",
            ]
        },
        TrustHint(".NET on Linux reads this file instead of the system's certificate file") {
            ["export SSL_CERT_FILE=\($0)"]
        },
        TrustHint("Debian, Ubuntu", "these commands make the whole machine trust the authority") {
            [
                "sudo install -m 644 \($0) /usr/local/share/ca-certificates/understudy.crt",
                "sudo update-ca-certificates",
            ]
        },
        TrustHint(
            "Alpine",
            "these commands make the whole machine trust the authority; they need root and the package ca-certificates"
        ) {
            ["install -m 644 \($0) /usr/local/share/ca-certificates/understudy.crt", "update-ca-certificates"]
        },
        TrustHint("macOS", "this command adds the authority to the login keychain, as trusted") {
            ["security add-trusted-cert -r trustRoot -k ~/Library/Keychains/login.keychain-db \($0)"]
        },
        TrustHint("iOS simulator", "this command makes the booted simulator trust the authority") {
            ["xcrun simctl keychain booted add-root-cert \($0)"]
        },
        TrustHint(
            "Android emulator",
            "run this command, then choose \"Install a certificate\" in the emulator's Settings, "
                + "Security; the app must trust certificates that users install"
        ) {
            ["adb push \($0) /sdcard/Download/understudy-ca.crt"]
        },
        TrustHint("Chromium and Chrome on Linux", "these commands need the package libnss3-tools") {
            [
                "mkdir -p $HOME/.pki/nssdb",
                "[ -e $HOME/.pki/nssdb/cert9.db ] || certutil -d sql:$HOME/.pki/nssdb -N --empty-password",
                "certutil -d sql:$HOME/.pki/nssdb -A -t C,, -n understudy -i \($0)",
            ]
        },
        TrustHint(
            "Firefox on Linux",
            "this command makes every Firefox profile trust the authority; it needs the package libnss3-tools"
        ) {
            [
                "for store in $HOME/.mozilla/firefox/*/cert9.db; do certutil -d sql:${store%/cert9.db} -A -t C,, -n understudy -i \($0); done"
            ]
        },
    ]
}

/// A file of trusted certificates for one command. It contains the certificates of the file in `SSL_CERT_FILE`, or else
/// those that the machine trusts, and the local certificate authority's.
struct TrustBundle {
    /// The paths of the certificate files of Linux distributions: Debian and Alpine, Fedora, OpenSUSE.
    static let systemPaths = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
    ]

    let path: String

    /// Writes a file of trusted certificates into `directory`. `authority` is the local authority's certificate, in
    /// PEM.
    init(authority: String, in directory: String) throws {
        let known = (Environment.variable("SSL_CERT_FILE").map { [$0] } ?? []) + TrustBundle.systemPaths
        // Bundles are read as bytes, because they have comments in any encoding.
        let system = known.lazy.compactMap { try? File.read($0) }.first ?? []
        path = "\(directory)/trusted.pem"
        try File.write(system + [0x0A] + authority.utf8, to: path, mode: 0o644)
    }

    /// The environment variables by which libraries find the file of trusted certificates.
    var variables: [(name: String, value: String)] {
        [
            "SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO",
        ].map { (name: $0, value: path) }
    }
}

/// A certificate store for the browsers of one command: a copy of the user's store, with the local authority's
/// certificate added. The command sees the copy as `~/.pki/nssdb`, which Chromium, Chrome and related browsers read on
/// Linux. <https://chromium.googlesource.com/chromium/src/+/main/docs/linux/cert_management.md>
struct BrowserStore {
    private static let files = ["cert9.db", "key4.db", "pkcs11.txt"]

    let path: String
    /// The path at which browsers look for the user's certificate store.
    let place: String

    /// The reason why browsers that the command starts can't trust the local authority, as a sentence.
    struct Absence: Error, CustomStringConvertible {
        let description: String
    }

    /// Copies the user's certificate store into `directory`, and adds the local authority's certificate, whose path is
    /// `authority`.
    init(authority: String, in directory: String) throws(Absence) {
        guard let home = Environment.variable("HOME") else {
            throw Absence(
                description:
                    "browsers don't trust the certificate authority: their certificate store is in HOME, which is unset"
            )
        }
        path = "\(directory)/nssdb"
        place = "\(home)/.pki/nssdb"
        mkdir(path, 0o700)
        for file in BrowserStore.files {
            guard let bytes = try? File.read("\(place)/\(file)") else { continue }
            try? File.write(bytes, to: "\(path)/\(file)", mode: 0o600)
        }
        let store = "sql:\(path)"
        if !File.exists("\(path)/cert9.db") {
            _ = QuietCommand.run(["certutil", "-N", "-d", store, "--empty-password"])
        }
        let code = QuietCommand.run([
            "certutil", "-A", "-d", store, "-t", "C,,", "-n", "understudy-exec", "-i", authority,
        ])
        guard let code else {
            throw Absence(
                description:
                    "Chromium and Chrome don't trust the certificate authority: certutil isn't installed (Debian and "
                    + "Ubuntu: libnss3-tools; Fedora: nss-tools; Alpine: nss-tools)")
        }
        guard code == 0 else {
            throw Absence(
                description:
                    "Chromium and Chrome don't trust the certificate authority: certutil couldn't add it to a copy of \(place)"
            )
        }
        // The directories stay: another running command may have its store mounted there.
        do { try File.makeDirectory(place, mode: 0o700) } catch {
            throw Absence(description: "Chromium and Chrome don't trust the certificate authority: \(error)")
        }
    }
}

struct HostsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hosts", abstract: "Print lines for a hosts file: every provider host, at the daemon's address.")

    @Option(help: "The daemon's address.")
    var address = "127.0.0.1"

    @Option(
        name: .customLong("seed"),
        help: ArgumentHelp(
            "Seed files. The hosts that they name, such as a Firebase project's, are printed besides the providers'.",
            valueName: "path"),
        completion: .file())
    var seeds: [String] = []

    func validate() throws {
        var (v4, v6) = (in_addr(), in6_addr())
        guard inet_pton(AF_INET, address, &v4) == 1 || inet_pton(AF_INET6, address, &v6) == 1 else {
            throw ValidationError("--address must be an IP address.")
        }
    }

    func run() throws {
        do {
            for host in try PlayedHosts.names(seeds: seeds.isEmpty ? [.builtIn] : seeds.map { .path($0) }) {
                Terminal.print("\(address) \(host)")
            }
        } catch {
            Terminal.complain("understudy: \(error)")
            throw ExitCode(1)
        }
    }
}
