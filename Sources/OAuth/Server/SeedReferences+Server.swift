import EmulatorCore
import JSON

extension SeedReferences {
    /// Checks the addresses of a seed's authorization servers. Their hosts are played, except this machine, and no two
    /// servers may have the same address. `defaultURL` returns the address of a server without `urlMember`, and `short`
    /// is the beginning of short addresses.
    package mutating func checkServers(
        _ servers: [LocatedJSON], urlMember: String, default defaultURL: (String) -> String, short: String
    ) {
        var places: [String: String] = [:]
        // Servers on this machine share one host.
        let own = WebAddress(defaultURL(""))?.host ?? ""
        for server in servers {
            let id = server["id"]?.string ?? ""
            if let json = server["id"], id.allSatisfy({ $0 == "." }) {
                add(json, "expected a name of more than dots, because it stands in addresses")
            }
            let json = server[urlMember].flatMap { $0.string == nil ? nil : $0 }
            guard let address = checkAddress(json, json?.string ?? defaultURL(id)) else { continue }
            let host = address.isOfThisMachine ? own : address.host
            func claim(_ path: String, _ json: LocatedJSON) {
                let path = path.hasSuffix("/") ? String(path.dropLast()) : path
                if let other = places.updateValue(id, forKey: "\(host)\(path)") {
                    add(json, "is at the same address as \(Diagnosis.quote(other)): host and path must differ")
                }
            }
            claim(address.path, json ?? server)
            for place in server["alsoAt"]?.items ?? [] { claim(place["path"]?.string ?? "", place["path"] ?? place) }
            if let json, address.isOfThisMachine { checkOwnPath(json, address.path, of: id, short) }
            checkPaths(server["paths"])
        }
    }

    private mutating func checkAddress(_ json: LocatedJSON?, _ url: String) -> WebAddress? {
        guard let address = WebAddress(url), address.path == address.rest else {
            if let json { add(json, "expected a URL without a query, a fragment and a user") }
            return nil
        }
        if let json, !address.isOfThisMachine { checkHost(json, address.host) }
        return address
    }

    /// Checks a path on the daemon's own host, which must not hide the daemon's pages.
    private mutating func checkOwnPath(_ json: LocatedJSON, _ path: String, of id: String, _ short: String) {
        let first = path.split(separator: "/").first.map(String.init) ?? ""
        let isShort = "/\(first)" == short
        guard
            isShort
                ? path != "\(short)/\(id)"
                : ["emulator", "mcp", ".well-known"].contains(first) || first.hasPrefix("_") || first.hasPrefix("~")
        else { return }
        add(json, "the path \(Diagnosis.quote(path)) is the daemon's own: leave it to \(short)/\(id), or give another")
    }

    private mutating func checkPaths(_ json: LocatedJSON?) {
        guard let json else { return }
        var seen: Set<String> = ["/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"]
        for path in EndpointPaths(reading: json.value).all where !seen.insert(path).inserted {
            add(json, "\(Diagnosis.quote(path)) is the path of two endpoints: each needs its own")
        }
    }
}
