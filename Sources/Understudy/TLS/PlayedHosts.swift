import EmulatorCore

/// The provider hosts that the daemon plays, and the seeded projects' own: those whose names can be pointed at it.
public enum PlayedHosts {
    /// Their names for a server that starts on `seeds`, sorted.
    ///
    /// - Throws: ``StartError`` when a seed can't be used.
    public static func names(seeds: [SeedInput] = [.builtIn]) throws -> [String] {
        names(for: try SeedInput.load(seeds))
    }

    static func names(for seed: Seed) -> [String] {
        let played = Set(Providers.playing(seed).flatMap(\.hosts)).filter { !$0.contains("*") }
        return played.union(seed.sections.flatMap(\.hosts)).sorted()
    }

    /// What a certificate authority may vouch for: the hosts that are played whatever is seeded, those that the built-in seed
    /// and `seeds` name, and this machine.
    static func domains(seeds: [SeedInput]) throws -> [String] {
        let always = Set(Providers.playing(try SeedInput.load([.json("{}")])).flatMap(\.hosts)).map {
            $0.hasPrefix("*.") ? String($0.dropFirst(2)) : $0
        }
        var seeded = Set(try names())
        if !seeds.isEmpty { seeded.formUnion(try names(seeds: seeds)) }
        let known = Set(always + ["localhost"])
        // A domain stands for all below it.
        let others = seeded.filter { host in !parents(of: host).contains { known.contains($0) } }
        return (always + others.filter { !known.contains($0) }).sorted() + ["localhost"]
    }

    /// `a.example.com`: `example.com`, `com`.
    private static func parents(of host: String) -> [String] {
        host.indices.filter { host[$0] == "." }.map { String(host[host.index(after: $0)...]) }
    }

    /// The names in the daemon's certificate.
    static func certified(for seed: Seed) -> [String] {
        let hosts = names(for: seed)
        return hosts + ["*.firebaseapp.com", "localhost", "*.localhost"] + hosts.map { "\($0).localhost" }
    }
}
