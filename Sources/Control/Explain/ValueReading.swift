import EmulatorCore
import HTTPServer
import JOSE
import JSON
import Time

/// One member of a token's header or one claim, with what is to be said of it.
package struct ReadMember: Sendable {
    package let name: String
    /// A text as it is, any other value as JSON.
    package let value: String
    package let findings: [ExplainedPart.Finding]

    init(_ name: String, _ value: JSONValue, _ findings: [ExplainedPart.Finding]) {
        self.name = name
        self.value = value.string ?? value.text
        self.findings = findings
    }
}

/// A JSON Web Token taken apart, each claim in words.
package struct ReadToken: Sendable {
    /// What it is, such as "ID token".
    package let title: String
    package let header: [ReadMember]
    package let claims: [ReadMember]
    /// What should be there and isn't.
    package let missing: [ExplainedPart.Finding]
    package let signature: [ExplainedPart.Finding]

    /// The same as parts of an explanation.
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

/// What is known of a token from where it was found.
package struct TokenSurroundings: Sendable {
    /// A text of another exchange.
    package struct Sent: Sendable {
        package let text: String
        /// To whom it was sent, such as "Apple"; empty for what a person has given.
        package let receiver: String
        /// The exchange's ID; `nil` for what a person has given.
        package let exchange: String?

        package init(_ text: String, to receiver: String, in exchange: String?) {
            self.text = text
            self.receiver = receiver
            self.exchange = exchange
        }
    }

    /// The name of the field that holds it.
    package var field: String?
    /// Who made it, if that is known from the exchange that brought it.
    package var maker: (any Provider)?
    /// For which client it was made, and by which exchange.
    package var client: Sent?
    /// What an authorization request of the same flow sent as `nonce`.
    package var sentNonce: Sent?
    /// What was handed over together with the token, as the text that was hashed.
    package var rawNonce: Sent?
    /// What came beside the token.
    package var accessTokens: [String] = []
    package var codes: [String] = []

    package init(field: String? = nil) { self.field = field }
}

/// Reads values that a world has given out or was sent: against its seed, its keys, its clock and its recording.
package struct ValueReader: Sendable {
    package let world: World
    package let providers: [any Provider]
    private let finder: EndpointFinder
    /// The moment by which times are judged.
    package let now: Instant
    /// Each provider with its hosts. Listing them costs something, so it is done once.
    private let hosts: [(provider: any Provider, names: Set<String>)]

    /// `moment` is that of an exchange, whose tokens may have expired since; without one, times are judged as of now.
    package init(_ world: World, by control: ControlAPI, at moment: Instant? = nil) {
        let providers = control.providers
        finder = control.finder.value
        self.world = world
        self.providers = providers
        now = moment ?? world.now
        hosts = providers.map { ($0, $0.hosts) }
    }

    /// What people call it.
    package static func title(of provider: any Provider) -> String { provider.facts.title }

    /// The provider whose ID tokens say `iss` so, at its own address or at this daemon's.
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

    /// Who answered an exchange.
    package func provider(of exchange: RecordedExchange) -> (any Provider)? { finder.find(exchange).provider }

    /// The clients that the seed has at a provider; of all providers without one.
    func clients(of provider: (any Provider)?) -> [SeededClient] {
        guard let provider else { return world.seed.sections.flatMap(\.seededClients) }
        return world.seed.section(named: provider.name)?.seededClients ?? []
    }

    /// What a code or an opaque token is, in this world.
    package func issued(_ text: String) -> (provider: any Provider, value: IssuedValue)? {
        for provider in providers {
            if let value = (provider as? any KeepsGrants)?.issued(text, in: world) { return (provider, value) }
        }
        return nil
    }

    /// "ada (Ada Lovelace)".
    func person(_ id: String) -> String {
        guard !id.isEmpty else { return "the client itself" }
        guard let account = world.read({ $0.account(id) }) else { return "\(id), who is gone" }
        return "\(account.fullName) (\(id))"
    }
}
