import Apple
import EmulatorCore
import Facebook
import Firebase
import GitHub
import Google
import Inspector
import JSON
import Mail
import OpenID

/// The one list of providers.
package enum Providers {
    static let all: [any Provider.Type] = [
        AppleProvider.self, GitHubProvider.self, GoogleProvider.self, FacebookProvider.self, OpenIDProvider.self,
        FirebaseProvider.self,
    ]

    /// What seeds and the control API call them.
    package static var names: [String] { seedFormat.sections.map { $0.name } }

    /// What a seed file can hold.
    package static let seedFormat = SeedFormat(all, rows: Inspector.rows, values: MailService.values)

    /// Environment variables by which a program finds the providers at the daemon whose address is `url`.
    package static func variables(daemon url: String) -> [(name: String, value: String)] {
        all.flatMap { $0.variables(daemon: url) }
    }

    /// What the providers can explain of a kind of value, for the command's help.
    package static func explained(_ value: ExplainedValue) -> [String] { all.compactMap { $0.explainedValues[value] } }

    /// A seed that names the default project and nothing else.
    static func seed(defaultProject id: String) -> JSONValue { FirebaseSection.seed(defaultProject: id) }

    /// The seed with what providers' own tools have exported to a directory.
    static func importing(_ directory: String, to seed: Seed) throws(StartError) -> Seed {
        do throws(Issues) {
            var data: [any ExportedData] = []
            for provider in all {
                if let read = try provider.exportedData(at: directory, for: seed) { data.append(read) }
            }
            return seed.beginning(with: data)
        } catch {
            throw StartError(description: error.description)
        }
    }

    static func playing(_ seed: Seed) -> [any Provider] { all.map { $0.init(seed: seed) } }
}
