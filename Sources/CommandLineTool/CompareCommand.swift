import ArgumentParser
import EmulatorCore
import JSON
import Recordings
import Understudy

struct CompareCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compare",
        abstract:
            "Send Understudy the recorded requests of a sign-in at a real provider, and list the responses that differ.",
        discussion: """
            The recording is an HTTP archive (HAR) of a sign-in with your own account and client, as browsers and proxies write \
            it. A seed must have that client. Tokens, times and IDs aren't compared, and secrets are masked in the output. Exits \
            1 when something differs, or nothing could be compared.
            """)

    @Argument(help: "The HTTP archive.", completion: .file())
    var file: String

    @Option(
        name: .customLong("seed"),
        help: ArgumentHelp(
            "A seed file, or a directory of seed files, with your client. May be repeated. (default: the built-in seed)",
            valueName: "path"), completion: .file())
    var seeds: [String] = []

    @Option(
        help: ArgumentHelp(
            "Behave as the providers did on this day; \"next\" adds announced changes. (default: the recording's day)",
            valueName: "day"))
    var asOf: String?

    @Option(help: ArgumentHelp("The person who signs in. (default: the seed's first person)", valueName: "id"))
    var account: String?

    @Flag(help: "Print JSON.")
    var json = false

    func validate() throws { if let asOf { _ = try ChangesCommand.day(asOf, from: "--as-of") } }

    func run() throws {
        let findings: [Comparison.Finding]
        do {
            let bytes = try File.read(file)
            let inputs: [SeedInput] = seeds.isEmpty ? [.builtIn] : seeds.map { .path($0) }
            findings = try Comparison.run(
                HARFile(bytes, name: file), seeds: inputs, asOf: asOf, account: account)
        } catch {
            Terminal.complain(CompareCommand.visible("understudy: \(error)", ofOneLine: false))
            throw ExitCode(1)
        }
        if json {
            let document = CompareCommand.document(findings).indented()
            Terminal.print(CompareCommand.visible(document, ofOneLine: false))
        } else {
            CompareCommand.print(findings)
        }
        let isSame = findings.contains(where: \.isCompared) && findings.allSatisfy { $0.differences.isEmpty }
        if !isSame { throw ExitCode(1) }
    }

    /// Returns a text for the terminal, with U+FFFD in place of each control character, so that a recording can't write
    /// escape sequences. Line breaks stay unless the text is meant to be one line.
    private static func visible(_ text: String, ofOneLine isLine: Bool = true) -> String {
        var visible = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            let isControl = scalar.properties.generalCategory == .control && (isLine || scalar != "\n")
            visible.append(isControl ? "\u{FFFD}" : scalar)
        }
        return String(visible)
    }

    private static func print(_ findings: [Comparison.Finding]) {
        for finding in findings {
            switch finding.outcome {
            case .skipped(let reason):
                guard reason != Comparison.otherHost else { continue }
                Terminal.print(visible("skipped  \(finding.number)  \(finding.title): \(reason)"))
            case .compared(let differences):
                let verdict = differences.isEmpty ? "same   " : "DIFFERS"
                Terminal.print(visible("\(verdict)  \(finding.number)  \(finding.title)"))
                for difference in differences {
                    Terminal.print(visible("           \(difference.kind.rawValue): \(difference.text)"))
                }
            }
        }
        let compared = findings.filter(\.isCompared)
        let others = findings.filter { $0.outcome == .skipped(Comparison.otherHost) }.count
        Terminal.print(
            "\(compared.count) responses compared, \(compared.filter { !$0.differences.isEmpty }.count) differ; "
                + "\(findings.count - compared.count) requests skipped, \(others) of them because "
                + "Understudy doesn't impersonate their hosts")
    }

    private static func document(_ findings: [Comparison.Finding]) -> JSONValue {
        .object(
            JSONObject([
                (
                    "entries",
                    .array(
                        findings.map { finding in
                            var entry = JSONObject([
                                ("number", .integer(Int64(finding.number))), ("request", .string(finding.title)),
                            ])
                            if case .skipped(let reason) = finding.outcome {
                                entry["skipped"] = .string(reason)
                            } else {
                                entry["differences"] = .array(
                                    finding.differences.map {
                                        ["kind": .string($0.kind.rawValue), "text": .string($0.text)]
                                    })
                            }
                            return .object(entry)
                        })
                ), ("compared", .integer(Int64(findings.count(where: \.isCompared)))),
                ("differ", .integer(Int64(findings.count { !$0.differences.isEmpty }))),
            ]))
    }
}
