import Apple
import EmulatorCore
import Facebook
import Firebase
import GitHub
import Google

/// The one list of providers.
package enum Providers {
    static let all: [any Provider.Type] = [
        AppleProvider.self, GitHubProvider.self, GoogleProvider.self, FacebookProvider.self, FirebaseProvider.self,
    ]

    /// What a seed file can hold.
    package static let seedFormat = SeedFormat(all)

    static func playing(_ seed: Seed) -> [any Provider] { all.map { $0.init(seed: seed) } }
}
