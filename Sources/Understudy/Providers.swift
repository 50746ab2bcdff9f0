import Apple
import EmulatorCore
import Facebook
import Firebase
import GitHub
import Google
import Inspector
import JSON
import Logging
import Mail
import Microsoft
import OpenID

/// The list of all identity providers that the daemon stands in for. No other file has such a list.
package enum Providers {
    static let all: [any Provider.Type] = [
        AppleProvider.self, GitHubProvider.self, GoogleProvider.self, FacebookProvider.self, MicrosoftProvider.self,
        OpenIDProvider.self, FirebaseProvider.self,
    ]

    /// The names of the identity providers in seeds (test data) and in the control API.
    package static var names: [String] { seedFormat.sections.map { $0.name } }

    /// The format of seed files, which contain a daemon's test data.
    package static let seedFormat = SeedFormat(all, rows: Inspector.rows)

    /// Returns the environment variables that tell a program where the providers' endpoints are at the daemon with this
    /// address.
    package static func variables(daemon url: String) -> [(name: String, value: String)] {
        all.flatMap { $0.facts.variables(url) }
    }

    /// Returns descriptions of the values that `understudy explain` can explain, for the command's help.
    package static func explained(_ value: ExplainedValue) -> [String] {
        all.explainers.compactMap { $0.explainedValues[value] }
    }

    /// The known changes of the providers' behaviour, for each provider that has some.
    package static var changes: [(provider: String, changes: [Change])] {
        all.map { (provider: $0.title, changes: $0.facts.changes) }.filter { !$0.changes.isEmpty }
    }

    /// Returns the Firebase project of requests that name none; `nil` if the seed names none.
    package static func firebaseProject(of seed: Seed) -> String? { seed[FirebaseSection.self].defaultProjectID }

    static func seed(functionsEmulator address: String) -> JSONValue {
        FirebaseSection.seed(functionsEmulator: address)
    }

    static func seed(defaultProject id: String) -> JSONValue { FirebaseSection.seed(defaultProject: id) }

    /// Returns `seed` together with the data in `directory`, which a provider's own tools have exported (for example,
    /// `firebase emulators:export`). Imported data that the seed's settings keep from having an effect is logged.
    static func importing(_ directory: String, to seed: Seed, logger: Logger) throws(StartError) -> Seed {
        do throws(Issues) {
            var data: [any ExportedData] = []
            for case let provider as any ExportsData.Type in all {
                if let read = try provider.exportedData(at: directory, for: seed) { data.append(read) }
            }
            for warning in data.flatMap(\.warnings) { logger.warning("\(warning)") }
            return seed.beginning(with: data)
        } catch {
            throw StartError(description: error.description)
        }
    }

    /// Returns the evidence for each provider's behaviour, a public source or, without one, a reason: first the
    /// evidence for its endpoints, and then all other evidence.
    package static func evidence() throws -> [(name: String, title: String, rows: [EvidenceTable.Row])] {
        try playing(SeedInput.load([.builtIn])).map { provider in
            (provider.name, provider.facts.title, endpoints(of: provider) + provider.facts.evidence().rows)
        }
    }

    private static func endpoints(of provider: any Provider) -> [EvidenceTable.Row] {
        var hosts: [String: [String]] = [:]
        var found: [(key: String, name: String, evidence: Evidence)] = []
        for endpoint in provider.endpoints where endpoint.traits != nil && !endpoint.isControl {
            guard let evidence = endpoint.evidence else { continue }
            let name = "\(endpoint.method) \(endpoint.path)"
            let key = "\(name) \(evidence.line)"
            if hosts[key] == nil { found.append((key, name, evidence)) }
            hosts[key, default: []] += endpoint.hosts
        }
        return found.map { EvidenceTable.Row($0.name, hosts: hosts[$0.key, default: []], $0.evidence) }
    }

    package static func playing(_ seed: Seed) -> [any Provider] { all.map { $0.init(seed: seed) } }
}
