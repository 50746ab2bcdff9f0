import EmulatorCore
import JSON

/// An endpoint, error, claim, header or limit of a provider, and the source from which it is known.
package struct KnownBehaviour: Sendable {
    /// What it is: `endpoint`, `error`, `claim`, `header`, `limit` or `text`.
    package let subject: String
    package let name: String
    /// The text of an error, or the value of a limit.
    package let text: String
    package let evidence: Evidence
    /// The first day on which the provider behaves so; empty if it isn't known.
    package let since: String

    package var json: JSONValue {
        var object = JSONObject([
            ("subject", .string(subject)), ("name", .string(name)), ("kind", .string(evidence.kind.rawValue)),
            ("source", .string(evidence.source)),
        ])
        if !text.isEmpty { object["text"] = .string(text) }
        object["date"] = evidence.date.map { .string($0) }
        if !since.isEmpty { object["since"] = .string(since) }
        return .object(object)
    }
}

extension Providers {
    /// Returns what is known of each provider, endpoints first. Endpoints are those of the built-in seed.
    package static func knownBehaviours() throws -> [(name: String, title: String, behaviours: [KnownBehaviour])] {
        try playing(SeedInput.load([.builtIn])).map { provider in
            (provider.name, provider.facts.title, endpoints(of: provider) + rows(of: provider))
        }
    }

    /// Returns the endpoints, each with all its hosts.
    private static func endpoints(of provider: any Provider) -> [KnownBehaviour] {
        var hosts: [String: [String]] = [:]
        var found: [(key: String, endpoint: Endpoint, evidence: Evidence)] = []
        for endpoint in provider.endpoints where endpoint.traits != nil && !endpoint.isControl {
            guard let evidence = endpoint.evidence else { continue }
            let key = "\(endpoint.method) \(endpoint.path) \(evidence.line)"
            if hosts[key] == nil { found.append((key, endpoint, evidence)) }
            hosts[key, default: []] += endpoint.hosts
        }
        return found.map { key, endpoint, evidence in
            KnownBehaviour(
                subject: "endpoint", name: "\(endpoint.method) \(endpoint.path)",
                text: hosts[key, default: []].joined(separator: ", "), evidence: evidence, since: "")
        }
    }

    private static func rows(of provider: any Provider) -> [KnownBehaviour] {
        provider.facts.evidence().rows.map {
            KnownBehaviour(
                subject: $0.subject.rawValue, name: $0.name, text: $0.text, evidence: $0.evidence, since: $0.since)
        }
    }
}
