import EmulatorCore
import JSON

/// Makes client secrets that are JSON Web Tokens, as Apple requires, signed with keys of the seeds (the test data).
package enum ClientSecrets {
    /// Makes a client secret that is a signed JSON Web Token.
    ///
    /// - Throws: ``StartError`` if a seed (test data) can't be used, or if the seeds don't have the client or its key.
    package static func sign(_ wanted: ClientSecretRequest, seeds: [SeedInput]) throws -> String {
        let seed = try SeedInput.load(seeds)
        do throws(ClientSecretRequest.Refusal) {
            for case let provider as any SignsClientSecrets.Type in Providers.all {
                if let secret = try provider.clientSecret(for: wanted, seed: seed) { return secret }
            }
        } catch {
            throw StartError(description: error.description)
        }
        let isBuiltIn = if case .builtIn? = seeds.first { true } else { false }
        throw StartError(
            description: refusal(of: wanted.client, seed)
                + (isBuiltIn ? "; this is the built-in seed: give yours with --seed" : ""))
    }

    private static func refusal(of client: String, _ seed: Seed) -> String {
        let name = Diagnosis.quote(client)
        if let other = seed.sections.flatMap(\.seededClients).first(where: { $0.id == client }) {
            return
                "the client \(name) (\(other.kind)) has no signed client secret: its secret is a fixed text in the seed"
        }
        let known = Providers.all.flatMap {
            ($0 as? any SignsClientSecrets.Type)?.clientsThatSign(in: seed) ?? []
        }
        guard !known.isEmpty else {
            return "the seed has neither the client \(name) nor any other client with a signed client secret"
        }
        let hint = Spelling.hint(client, among: known)
        return
            "there is no client \(name) with a signed client secret\(hint.isEmpty ? ": the seed has \(some(of: known))" : hint)"
    }

    private static func some(of names: [String]) -> String {
        let shown = names.prefix(8).joined(separator: ", ")
        return names.count > 8 ? "\(shown) and \(names.count - 8) others" : shown
    }
}
