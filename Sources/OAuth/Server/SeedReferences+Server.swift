import EmulatorCore
import JSON

extension SeedReferences {
    /// Checks the addresses of authorization servers that a seed names. Their hosts are played here, apart from this machine, and
    /// no two of them may be at one address. `defaultURL` is that of a server whose `urlMember` the seed leaves out.
    package mutating func checkServers(
        _ servers: [LocatedJSON], urlMember: String, default defaultURL: (String) -> String
    ) {
        var places: [String: String] = [:]
        for server in servers {
            let id = server["id"]?.string ?? ""
            if let json = server["id"], id.allSatisfy({ $0 == "." }) {
                add(json, "expected a name of more than dots, because it stands in addresses")
            }
            let json = server[urlMember].flatMap { $0.string == nil ? nil : $0 }
            guard let address = checkAddress(json, json?.string ?? defaultURL(id)) else { continue }
            let path = address.path.hasSuffix("/") ? String(address.path.dropLast()) : address.path
            if let other = places.updateValue(id, forKey: "\(address.host)\(path)") {
                add(json ?? server, "is at the same address as \(Diagnosis.quote(other)): host and path must differ")
            }
            checkPaths(server["paths"])
        }
    }

    /// The address, unless it is this machine's, at which nothing is played under its own name.
    private mutating func checkAddress(_ json: LocatedJSON?, _ url: String) -> WebAddress? {
        guard let address = WebAddress(url), address.path == address.rest else {
            if let json { add(json, "expected a URL without a query, a fragment and a user") }
            return nil
        }
        guard !address.isIPAddress, !address.isLocalhost else { return nil }
        if let json { checkHost(json, address.host) }
        return address
    }

    private mutating func checkPaths(_ json: LocatedJSON?) {
        guard let json else { return }
        var seen: Set<String> = ["/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"]
        for path in EndpointPaths(reading: json.value).all where !seen.insert(path).inserted {
            add(json, "\(Diagnosis.quote(path)) is the path of two endpoints: each needs its own")
        }
    }
}
