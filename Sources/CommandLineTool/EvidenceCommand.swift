import ArgumentParser
import EmulatorCore
import JSON
import Understudy

struct EvidenceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "evidence", abstract: "List the public sources for what is known of a provider's behaviour.",
        discussion:
            "Without a provider, prints how many facts of each kind are known about each provider. The kinds of facts: "
            + "\"documented\": the provider's documentation says so; \"recorded\": a public issue or log quotes the "
            + "real response; \"specified\": a specification says so; \"reported\": somebody describes the behaviour; "
            + "\"chosen\": no public source says how the provider behaves.")

    @Argument(help: ArgumentHelp("The provider, such as apple.", valueName: "provider"))
    var provider: String?

    @Option(
        help: ArgumentHelp(
            "List only behaviour with this kind of evidence: \(Evidence.Kind.allCases.map(\.rawValue).joined(separator: ", ")).",
            valueName: "kind"))
    var kind: String?

    @Flag(help: "Print JSON.")
    var json = false

    func validate() throws {
        if let kind, Evidence.Kind(rawValue: kind) == nil {
            let kinds = Evidence.Kind.allCases.map(\.rawValue)
            throw ValidationError(
                "--kind: \"\(kind)\" isn't one of \(kinds.joined(separator: ", "))\(Spelling.hint(kind, among: kinds))")
        }
    }

    func run() throws {
        let all = try Providers.evidence()
        let provider = provider.map { given in
            all.first { [$0.name, $0.title].contains { $0.lowercased() == given.lowercased() } }?.name ?? given
        }
        if let provider, !all.contains(where: { $0.name == provider }) {
            let names = all.map(\.name)
            throw ValidationError(
                "\"\(provider)\" isn't one of \(names.joined(separator: ", "))\(Spelling.hint(provider, among: names))")
        }
        let found = all.filter { provider == nil || $0.name == provider }.map { known in
            (known.name, known.title, rows: known.rows.filter { kind == nil || $0.evidence.kind.rawValue == kind })
        }
        if json {
            let document = JSONObject(found.map { ($0.0, .array($0.rows.map(EvidenceCommand.document))) })
            return Terminal.print(JSONValue.object(document).indented())
        }
        for (_, title, rows) in found {
            guard provider != nil else {
                Terminal.print("\(title): \(EvidenceCommand.counts(rows, of: kind))")
                continue
            }
            if rows.isEmpty { Terminal.print("\(title): no known behaviour matches --kind \(kind ?? "")") }
            for row in rows {
                Terminal.print("\(row.subject) \(row.name)\(row.text.isEmpty ? "" : ": \(row.text)")")
                Terminal.print("    \(row.evidence.line)")
            }
        }
    }

    private static func document(_ row: EvidenceTable.Row) -> JSONValue {
        var object = JSONObject([
            ("subject", .string(row.subject.rawValue)), ("name", .string(row.name)),
            ("kind", .string(row.evidence.kind.rawValue)), ("source", .string(row.evidence.source)),
        ])
        if !row.text.isEmpty { object["text"] = .string(row.text) }
        object["date"] = row.evidence.date.map { .string($0) }
        if !row.since.isEmpty { object["since"] = .string(row.since) }
        return .object(object)
    }

    private static func counts(_ rows: [EvidenceTable.Row], of wanted: String?) -> String {
        Evidence.Kind.allCases.filter { wanted == nil || $0.rawValue == wanted }.map { kind in
            "\(rows.count { $0.evidence.kind == kind }) \(kind.rawValue)"
        }.joined(separator: ", ")
    }
}
