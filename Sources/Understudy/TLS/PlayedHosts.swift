import EmulatorCore

/// The hosts of providers that the daemon stands in for, and the hosts that seeds (test data) add, such as those of
/// Firebase projects. Their names can be made to resolve to the daemon.
public enum PlayedHosts {
    /// Returns the sorted names of the provider hosts that a server with these seeds (test data) stands in for.
    ///
    /// - Throws: ``StartError`` if a seed can't be used.
    public static func names(seeds: [SeedInput] = [.builtIn]) throws -> [String] {
        names(for: try SeedInput.load(seeds))
    }

    static func names(for seed: Seed) -> [String] {
        let played = Set(Providers.playing(seed).flatMap(\.hosts)).filter { !$0.contains("*") }
        return played.union(seed.sections.flatMap(\.hosts)).sorted()
    }

    /// Returns the domains for which the local certificate authority may issue certificates: the provider hosts that
    /// the daemon always stands in for, the hosts that the built-in seed and `seeds` name, and this machine.
    static func domains(seeds: [SeedInput]) throws -> [String] {
        let always = Set(Providers.playing(try SeedInput.load([.json("{}")])).flatMap(\.hosts)).map {
            $0.hasPrefix("*.") ? String($0.dropFirst(2)) : $0
        }
        var seeded = Set(try names())
        if !seeds.isEmpty { seeded.formUnion(try names(seeds: seeds)) }
        let known = Set(always + ["localhost"])
        // A domain includes all of its subdomains.
        let others = seeded.filter { host in !parents(of: host).contains { known.contains($0) } }
        return (always + others.filter { !known.contains($0) }).sorted() + ["localhost"]
    }

    /// Returns the parent domains of a host name: for `a.example.com`, `example.com` and `com`.
    private static func parents(of host: String) -> [String] {
        host.indices.filter { host[$0] == "." }.map { String(host[host.index(after: $0)...]) }
    }

    /// Returns the host names in the daemon's TLS certificate.
    static func certified(for seed: Seed) -> [String] {
        let hosts = names(for: seed)
        return hosts + ["*.firebaseapp.com", "localhost", "*.localhost"] + hosts.map { "\($0).localhost" }
    }
}
