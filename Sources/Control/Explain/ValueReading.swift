import EmulatorCore
import HTTPServer
import JOSE
import JSON
import Recordings
import Time

/// A header member or a claim of a token, with the findings about it.
package struct ReadMember: Sendable {
    package let name: String
    /// The member's value: a string without quotation marks, any other value as JSON.
    package let value: String
    package let findings: [ExplainedPart.Finding]

    init(_ name: String, _ value: JSONValue, _ findings: [ExplainedPart.Finding]) {
        self.name = name
        self.value = value.string ?? value.text
        self.findings = findings
    }
}

/// A parsed JSON Web Token, with findings about each header member and claim.
package struct ReadToken: Sendable {
    /// The kind of the token, such as "ID token".
    package let title: String
    package let header: [ReadMember]
    package let claims: [ReadMember]
    /// The findings about header members and claims that the token lacks.
    package let missing: [ExplainedPart.Finding]
    package let signature: [ExplainedPart.Finding]

    /// The explanation of a token in two parts: the findings about its header and claims, and those about its
    /// signature.
    package var parts: [ExplainedPart] {
        let said = (header + claims).flatMap { member in
            member.findings.isEmpty
                ? [ExplainedPart.Finding(holds: nil, "\(member.name): \(BoundedText.shortened(member.value, to: 500))")]
                : member.findings.map { finding in
                    ExplainedPart.Finding(
                        holds: finding.holds,
                        "\(member.name): \(BoundedText.shortened(member.value, to: 500)): \(finding.text)",
                        exchange: finding.exchange)
                }
        }
        return [ExplainedPart(title, said + missing), ExplainedPart("Signature", signature)]
    }
}

/// The facts about a token that follow from the recorded requests and responses that contain it.
package struct TokenSurroundings: Sendable {
    /// A value from a recorded request, such as a nonce, with which a token is compared.
    package struct Sent: Sendable {
        package let text: String
        /// The receiver of the value, such as "Apple"; empty if somebody has pasted the value.
        package let receiver: String
        /// The ID of the recorded request in which the value was sent; `nil` if somebody has pasted the value.
        package let exchange: String?

        package init(_ text: String, to receiver: String, in exchange: String?) {
            self.text = text
            self.receiver = receiver
            self.exchange = exchange
        }
    }

    /// The name of the field that contained the token.
    package var field: String?
    /// The provider that issued the token; `nil` if the recording doesn't contain the response that issued it.
    package var maker: (any Provider)?
    /// The client for which the token was issued, and the recorded request for the token.
    package var client: Sent?
    /// The `nonce` of the authorization request that led to the token.
    package var sentNonce: Sent?
    /// The raw (unhashed) nonce that was sent together with the token, or pasted with it.
    package var rawNonce: Sent?
    /// The access tokens that were issued or sent together with the token that is explained.
    package var accessTokens: [String] = []
    package var codes: [String] = []

    package init(field: String? = nil) { self.field = field }
}

/// Explains values that a test world has issued or received, such as tokens and codes. It looks them up in the world's
/// seed, keys and recording, and judges times by the world's clock.
package struct ValueReader: Sendable {
    package let world: World
    package let providers: [any Provider]
    private let finder: EndpointFinder
    /// The time by which expiry and other times in tokens are judged.
    package let now: Instant
    /// All providers with their host names, computed once because that takes time.
    private let hosts: [(provider: any Provider, names: Set<String>)]

    /// Makes a reader that explains values, such as tokens. `moment` is the time of the request that contained the
    /// values: a token that was valid then counts as valid. Without `moment`, the test world's clock decides.
    package init(_ world: World, by control: ControlAPI, at moment: Instant? = nil) {
        let providers = control.providers
        finder = control.finder.value
        self.world = world
        self.providers = providers
        now = moment ?? world.now
        hosts = providers.map { ($0, $0.hosts) }
    }

    package static func title(of provider: any Provider) -> String { provider.facts.title }

    /// Returns the provider with this issuer URL, which may be the provider's real one or the one at this daemon's
    /// address.
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

    package func provider(of exchange: RecordedExchange) -> (any Provider)? { finder.find(exchange).provider }

    /// Returns the clients that the seed registers at `provider`, or at all providers if `provider` is `nil`.
    func clients(of provider: (any Provider)?) -> [SeededClient] {
        guard let provider else { return world.seed.sections.flatMap(\.seededClients) }
        return world.seed.section(named: provider.name)?.seededClients ?? []
    }

    /// Returns what this test world has stored about a code or an opaque token, and the provider that issued it.
    package func issued(_ text: String) -> (provider: any Provider, value: IssuedValue)? {
        for provider in providers {
            if let value = (provider as? any KeepsGrants)?.issued(text, in: world) { return (provider, value) }
        }
        return nil
    }

    /// Returns the name and the ID of an account: "Ada Lovelace (ada)".
    func person(_ id: String) -> String {
        guard !id.isEmpty else { return "the client itself" }
        guard let account = world.read({ $0.account(id) }) else { return "\(id), who is gone" }
        return "\(account.fullName) (\(id))"
    }
}
