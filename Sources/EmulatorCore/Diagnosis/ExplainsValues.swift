import JSON
import Recordings
import Time

/// A provider that can explain values without a world, for the command `explain`.
package protocol ExplainsValues: Provider {
    /// The values that the provider can explain beside ID tokens, in the words of the command's help, such as "A token
    /// of GitHub's".
    static var explainedValues: [ExplainedValue: String] { get }

    /// Returns whether `issuer` is the `iss` of the provider's ID tokens.
    static func isIssuer(_ issuer: String) -> Bool
    /// Returns the kind of an address that the provider gives out, such as "a private relay address"; `nil` for any
    /// other.
    static func kind(ofEmail email: String) -> String?
    /// Explains an access token; `nil` when it hasn't the form of the provider's tokens.
    static func explain(token: String, meantAsIDToken: Bool) -> [ExplainedPart]?
    /// Explains which form of a raw nonce is sent to the provider; empty when any form may be.
    static func explain(rawNonce: String) -> [ExplainedPart]
    /// Explains a client secret, and with a seed whether the secret fits a client of the seed; empty when the
    /// provider's secrets are random texts.
    static func explain(clientSecret: String, seed: Seed?, now: Instant) -> [ExplainedPart]
    /// Explains in a sentence an error with which a sign-in has returned to the client; `nil` for one that isn't the
    /// provider's own.
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

/// A kind of value that only some providers can explain.
package enum ExplainedValue: Sendable {
    case clientSecret
    case accessToken
}

/// A part of an explanation under one heading.
package struct ExplainedPart: Sendable {
    /// A sentence about one thing.
    package struct Finding: Sendable {
        /// Whether the explained thing is as it should be; `nil` for a mere statement.
        package let holds: Bool?
        /// The sentence without a full stop.
        package let text: String
        /// The ID of the exchange that the finding is about.
        package let exchange: String?

        package init(holds: Bool?, _ text: String, exchange: String? = nil) {
            self.holds = holds
            self.text = text
            self.exchange = exchange
        }

        /// A finding with `text`, followed by `remedy` if it doesn't hold.
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

    /// A part with the claims of a token, one a line.
    package init(claims: JSONObject) {
        self.init("Claims", claims.members.map { Finding(holds: nil, "\($0.key): \($0.value.text)") })
    }
}
