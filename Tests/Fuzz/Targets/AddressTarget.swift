import Foundation
import HTTPServer
import JOSE
import OAuth
import EmulatorCore
import Recordings

extension FuzzTarget {
    private static let hosts: Set<String> = ["appleid.apple.com", "github.com", "demo-app.firebaseapp.com"]

    /// Reads the address of a request and a redirect URI. The input's lines are the `Host` header, the path and the
    /// redirect URI.
    static let addresses = FuzzTarget("addresses", maximumLength: 2048) { bytes in
        let lines = bytes.lines(3)
        let request = Request(method: "GET", target: lines[1], headers: [(name: "Host", value: lines[0])])
        let named: NamedWorld
        do { named = try NamedWorld(request) { hosts.contains($1) } } catch let error as NamedWorld.Refusal { return }
        let address = Address(request, in: named) { hosts.contains($0) }
        try require(address.host.map { hosts.contains($0) } ?? true, "a host that nobody knows: \(address)")
        _ = (
            address.base(of: "github.com"), address.ownBase, address.subdomainBase(of: "github.com"), address.portSuffix
        )
        let name = Address.hostName(of: lines[0])
        try require(name == name.lowercased(), "a name with capitals: \(name)")

        let uri = lines[2]
        if let parsed = WebAddress(uri) {
            guard let origin = WebAddress(parsed.origin) else { throw Finding("no origin: \(parsed.origin) of \(uri)") }
            try require(
                origin.scheme == parsed.scheme && origin.host == parsed.host && origin.port == parsed.port,
                "another origin: \(parsed.origin) of \(uri)")
            try require(parsed.isSameSite(as: parsed), "not its own site: \(uri)")
            _ = (parsed.path, parsed.effectivePort, parsed.isLoopback, parsed.isIPAddress, parsed.isLocalhost)
        }
        let daemon = try FuzzDaemon.shared
        try daemon.reset()
        try daemon.send("GET", lines[1], headers: [(name: "Host", value: lines[0])])
        try redirect(to: uri, daemon)
    }

    /// Checks that clients whose sign-ins are answered automatically are redirected only to registered hosts.
    private static func redirect(to uri: String, _ daemon: FuzzDaemon) throws {
        let encoded = PercentCoding.encode(Array(uri.utf8))
        for (target, registered) in [
            (
                "/github.com/login/oauth/authorize?client_id=Ov23liAutoAnswers001",
                ["example.com", "example.org", "127.0.0.1"]
            ),
            (
                "/appleid.apple.com/auth/authorize?client_id=com.example.web.auto&response_type=code",
                ["example.com", "localhost"]
            ),
        ] {
            let answer = try daemon.send("GET", "\(target)&redirect_uri=\(encoded)")
            guard let location = answer?.header("Location") else { continue }
            // By the WHATWG's URL standard, a browser reads a backslash as a slash.
            let seen = location.replacingOccurrences(of: "\\", with: "/")
            let rest = seen.components(separatedBy: "://").dropFirst().joined(separator: "://")
            let authority = String(rest.prefix { !"/?#".contains($0) })
            let host = Address.hostName(of: authority.components(separatedBy: "@").last ?? "")
            let isRegistered = registered.contains { host == $0 || host.hasSuffix(".\($0)") }
            try require(
                isRegistered || authority == FuzzDaemon.authority, "\(target) leads to \(location), that is \(host)")
        }
    }
}
