import JSON
import TestSupport
import Testing
import Understudy

@testable import EmulatorCore

@Suite("The list of endpoints for faults")
struct EndpointCatalogTests {
    @Test("endpoints that count as alike take the same effects")
    func alike() throws {
        let seed = try Seed(
            [
                SeedSource(
                    name: "seed", text: #"{"openid":{"issuers":[{"id":"one"},{"id":"two"}]}}"#, directory: "."
                )
            ], format: Providers.seedFormat)
        let entries = Composition.catalog(for: seed).entries
        let alike = Dictionary(grouping: entries, by: \.traits.effectsHash)
        #expect(alike.count < entries.count / 3)
        let effects: [JSONValue] = [
            ["error": "invalid_grant"], ["error": "access_denied"], ["error": "nobody_has_this"], ["error": "404"],
            ["error": "invalid_grant", "description": "x"], ["token": ["alg": "none"]],
            ["token": ["claims": ["sub": "x"]]], ["response": ["x": 1]], ["shuffle": true], ["rotateKeys": "keep"],
            ["jwks": "empty"], ["malformedJSON": true], ["state": "wrong"], ["iss": "wrong"], ["code": "used"],
        ]
        for (effect, group) in effects.flatMap({ effect in alike.values.map { (effect, $0) } }) {
            let misfits = Set(group.map { $0.traits.misfit(FaultEffect(reading: effect)) })
            #expect(misfits.count == 1, "\(effect) \(group.map(\.name))")
        }
    }

    @Test(
        "short addresses are found by the path for which they stand",
        arguments: [
            ("login.example", "/token", ["/oidc/root/token", "/token"]),
            ("login.example", "/a/b/token", ["/oidc/root/a/b/token", "/a/b/token", "/oidc/deep/token"]),
            ("login.example", "/a/bc/token", ["/oidc/root/a/bc/token", "/a/bc/token"]),
            ("login.example", "/a/b", ["/oidc/root/a/b", "/a/b", "/oidc/deep"]),
            (
                "login.example", "/.well-known/openid-configuration/a/b",
                [
                    "/oidc/root/.well-known/openid-configuration/a/b", "/.well-known/openid-configuration/a/b",
                    "/.well-known/openid-configuration/oidc/deep",
                ]
            ),
            ("other.example", "/token", []),
        ])
    func shortPaths(host: String, path: String, expected: [String]) {
        let aliases = HostAliases([
            HostAlias(prefix: "/oidc/root", host: "login.example", path: ""),
            HostAlias(prefix: "", host: "login.example", path: ""),
            HostAlias(prefix: "/oidc/deep", host: "login.example", path: "/a/b"),
        ])
        #expect(aliases.shortPaths(of: path, at: host) == expected)
    }
}
