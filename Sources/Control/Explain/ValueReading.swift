import EmulatorCore
import HTTPServer
import JOSE
import JSON
import Recordings
import Time

/// A member of a token's header or a claim, with the findings about it.
package struct ReadMember: Sendable {
    package let name: String
    /// The value: a text as it is, any other value as JSON.
    package let value: String
    package let findings: [ExplainedPart.Finding]

    init(_ name: String, _ value: JSONValue, _ findings: [ExplainedPart.Finding]) {
        self.name = name
        self.value = value.string ?? value.text
        self.findings = findings
    }
}

/// A parsed JSON Web Token with findings about each claim.
package struct ReadToken: Sendable {
    /// The kind of the token, such as "ID token".
    package let title: String
    package let header: [ReadMember]
    package let claims: [ReadMember]
    /// The findings about missing members.
    package let missing: [ExplainedPart.Finding]
    package let signature: [ExplainedPart.Finding]

    /// The explanation in two parts: the members with the findings about them, and the signature.
    package var parts: [ExplainedPart] {
        let said = (header + claims).flatMap { member in
            member.findings.isEmpty
                ? [ExplainedPart.Finding(holds: nil, "\(member.name): \(Place.shortened(member.value, to: 500))")]
                : member.findings.map { finding in
                    ExplainedPart.Finding(
                        holds: finding.holds,
                        "\(member.name): \(Place.shortened(member.value, to: 500)): \(finding.text)",
                        exchange: finding.exchange)
                }
        }
        return [ExplainedPart(title, said + missing), ExplainedPart("Signature", signature)]
    }
}

/// The facts about a token that follow from where it was found.
package struct TokenSurroundings: Sendable {
    /// A text that another exchange sent to somebody.
    package struct Sent: Sendable {
        package let text: String
        /// The receiver of the text, such as "Apple"; empty for one that a person has pasted.
        package let receiver: String
        /// The exchange's ID; `nil` for a text that a person has pasted.
        package let exchange: String?

        package init(_ text: String, to receiver: String, in exchange: String?) {
            self.text = text
            self.receiver = receiver
            self.exchange = exchange
        }
    }

    /// The name of the field with the token.
    package var field: String?
    /// The provider that made the token, if the exchange with it tells.
    package var maker: (any Provider)?
    /// The client for which it was made, and the exchange that made it.
    package var client: Sent?
    /// The `nonce` of an authorization request in the same flow.
    package var sentNonce: Sent?
    /// The raw nonce, before hashing, that was sent together with the token.
    package var rawNonce: Sent?
    /// The access tokens beside the token.
    package var accessTokens: [String] = []
    package var codes: [String] = []

    package init(field: String? = nil) { self.field = field }
}

/// Explains values that a world has issued or received, with the help of its seed, its keys, its clock and its
/// recording.
package struct ValueReader: Sendable {
    package let world: World
    package let providers: [any Provider]
    private let finder: EndpointFinder
    /// The time at which times are judged.
    package let now: Instant
    /// The providers and their hosts, listed once because listing takes time.
    private let hosts: [(provider: any Provider, names: Set<String>)]

    /// Makes a reader. `moment` is the time of an exchange, whose tokens may have expired since; without it, times are
    /// judged by the world's clock.
    package init(_ world: World, by control: ControlAPI, at moment: Instant? = nil) {
        let providers = control.providers
        finder = control.finder.value
        self.world = world
        self.providers = providers
        now = moment ?? world.now
        hosts = providers.map { ($0, $0.hosts) }
    }

    /// Returns the provider's name for people.
    package static func title(of provider: any Provider) -> String { provider.facts.title }

    /// Returns the provider with this issuer, at its own address or at this daemon's.
    package func provider(ofIssuer issuer: String) -> (any Provider)? {
        let known = providers.first { (type(of: $0) as? any ExplainsValues.Type)?.isIssuer(issuer) ?? false }
        if let known { return known }
        guard let start = issuer.firstRange(of: "://")?.upperBound else { return nil }
        let rest = issuer[start...]
        let authority = String(rest.prefix { $0 != "/" })
        let path = rest.dropFirst(authority.count)
        let name = Address.hostName(of: authority)
        let segments = Set(path.split(separator: "/").prefix(3).map { $0.lowercased() })
        if let played = hosts.first(where: { entry in
            entry.names.contains { $0 == name || name.hasPrefix("\($0).") || segments.contains($0) }
        }) {
            return played.provider
        }
        return providers.first { provider in
            ((provider as? any HasAliases)?.aliases ?? []).contains {
                path == $0.prefix || path.hasSuffix($0.prefix) || path.hasSuffix("\($0.prefix)/")
            }
        }
    }

    /// Returns the provider that answered an exchange.
    package func provider(of exchange: RecordedExchange) -> (any Provider)? { finder.find(exchange).provider }

    /// Returns the clients that the seed has at a provider; without one, those of all providers.
    func clients(of provider: (any Provider)?) -> [SeededClient] {
        guard let provider else { return world.seed.sections.flatMap(\.seededClients) }
        return world.seed.section(named: provider.name)?.seededClients ?? []
    }

    /// Returns what this world knows of a code or an opaque token.
    package func issued(_ text: String) -> (provider: any Provider, value: IssuedValue)? {
        for provider in providers {
            if let value = (provider as? any KeepsGrants)?.issued(text, in: world) { return (provider, value) }
        }
        return nil
    }

    /// Returns a person's ID and name: "ada (Ada Lovelace)".
    func person(_ id: String) -> String {
        guard !id.isEmpty else { return "the client itself" }
        guard let account = world.read({ $0.account(id) }) else { return "\(id), who is gone" }
        return "\(account.fullName) (\(id))"
    }
}
