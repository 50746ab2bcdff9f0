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
        return (Array(played) + seed.sections.flatMap(\.hosts)).sorted()
    }

    /// What the certificate authority may vouch for: those hosts, whatever is seeded, and this machine.
    static func domains() throws -> [String] {
        let played = Set(Providers.playing(try SeedInput.load([.json("{}")])).flatMap(\.hosts))
        return played.map { $0.hasPrefix("*.") ? String($0.dropFirst(2)) : $0 }.sorted() + ["localhost"]
    }

    /// The names in the daemon's certificate.
    static func certified(for seed: Seed) -> [String] {
        let hosts = names(for: seed)
        return hosts + ["*.firebaseapp.com", "localhost", "*.localhost"] + hosts.map { "\($0).localhost" }
    }
}
