import JSON
import Time

/// A provider that knows something of values that it gave or takes, without a world: for the command `explain`.
package protocol ExplainsValues: Provider {
    /// What it can explain beside ID tokens, in the words of the command's help, such as "A token of GitHub's".
    static var explainedValues: [ExplainedValue: String] { get }

    /// Whether `issuer` is the `iss` of its ID tokens.
    static func isIssuer(_ issuer: String) -> Bool
    /// What kind of address of the provider's own `email` is, such as "a private relay address"; `nil` for any other.
    static func kind(ofEmail email: String) -> String?
    /// What is to be said of an access token; `nil` when it hasn't the form of the provider's.
    static func explain(token: String, meantAsIDToken: Bool) -> [ExplainedPart]?
    /// What the provider is to be sent of a raw nonce; empty when that isn't fixed.
    static func explain(rawNonce: String) -> [ExplainedPart]
    /// What is to be said of a client secret, with a seed also of whether it fits a registration there; empty when the
    /// provider's secrets are random texts.
    static func explain(clientSecret: String, seed: Seed?, now: Instant) -> [ExplainedPart]
    /// What `error`, by which a sign-in came back to the client, means, in a sentence; `nil` for one that isn't the provider's own.
    static func explain(error: String) -> String?
}

extension ExplainsValues {
    package static var explainedValues: [ExplainedValue: String] { [:] }

    package static func isIssuer(_ issuer: String) -> Bool { false }
    package static func kind(ofEmail email: String) -> String? { nil }
    package static func explain(token: String, meantAsIDToken: Bool) -> [ExplainedPart]? { nil }
    package static func explain(rawNonce: String) -> [ExplainedPart] { [] }
    package static func explain(clientSecret: String, seed: Seed?, now: Instant) -> [ExplainedPart] { [] }
    package static func explain(error: String) -> String? { nil }
}

extension Sequence where Element == any Provider {
    package var explainers: [any ExplainsValues.Type] {
        compactMap { type(of: $0) as? any ExplainsValues.Type }
    }
}

extension Sequence where Element == any Provider.Type {
    package var explainers: [any ExplainsValues.Type] { compactMap { $0 as? any ExplainsValues.Type } }
}

/// A kind of value that only some providers can say something of.
package enum ExplainedValue: Sendable {
    case clientSecret
    case accessToken
}

/// What is said under one heading.
package struct ExplainedPart: Sendable {
    /// One sentence about one thing.
    package struct Finding: Sendable {
        /// Whether it is as it should be; `nil` for a mere statement.
        package let holds: Bool?
        /// Without a full stop.
        package let text: String
        /// The ID of the exchange that it speaks of.
        package let exchange: String?

        package init(holds: Bool?, _ text: String, exchange: String? = nil) {
            self.holds = holds
            self.text = text
            self.exchange = exchange
        }

        /// `text`, with `remedy` behind it when it doesn't hold.
        package init(_ holds: Bool, _ text: String, else remedy: String) {
            self.init(holds: holds, holds ? text : "\(text): \(remedy)")
        }
    }

    package let heading: String
    package let findings: [Finding]

    package init(_ heading: String, _ findings: [Finding]) {
        self.heading = heading
        self.findings = findings
    }

    /// The claims of a token, one a line.
    package init(claims: JSONObject) {
        self.init("Claims", claims.members.map { Finding(holds: nil, "\($0.key): \($0.value.text)") })
    }
}
