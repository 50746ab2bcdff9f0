import EmulatorCore

extension Understudy {
    /// The provider hosts that the daemon plays, and the seeded projects' own: those whose names can be pointed at it.
    public static func hosts(seeds: [SeedInput] = [.builtIn]) throws -> [String] {
        hosts(for: try loadSeed(seeds))
    }

    static func hosts(for seed: Seed) -> [String] {
        let played = Set(providers(for: seed).flatMap(\.hosts)).filter { !$0.contains("*") }
        return (Array(played) + seed.firebase.projects.map { "\($0.id).firebaseapp.com" }).sorted()
    }

    /// What the certificate authority may vouch for: those hosts, whatever is seeded, and this machine.
    static func certifiedDomains() throws -> [String] {
        let played = Set(providers(for: try loadSeed([.json("{}")])).flatMap(\.hosts))
        return played.map { $0.hasPrefix("*.") ? String($0.dropFirst(2)) : $0 }.sorted()
            + ["localhost"]
    }

    /// The names in the daemon's certificate.
    static func certifiedNames(for seed: Seed) -> [String] {
        let hosts = hosts(for: seed)
        return hosts + ["*.firebaseapp.com", "localhost", "*.localhost"] + hosts.map { "\($0).localhost" }
    }
}
