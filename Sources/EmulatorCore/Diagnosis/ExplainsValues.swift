import JSON
import Recordings
import Time

/// An identity provider that can explain values, such as tokens and client secrets, to a developer. The command
/// `understudy explain` does so without a test world.
package protocol ExplainsValues: Provider {
    /// The kinds of values beside ID tokens that the provider can explain. Each has a description for the help of the
    /// command `understudy explain`, such as "A token of GitHub's".
    static var explainedValues: [ExplainedValue: String] { get }

    static func isIssuer(_ issuer: String) -> Bool
    /// Returns the kind of an e-mail address that the provider gives out, such as "a private relay address"; `nil` for
    /// an address from elsewhere.
    static func kind(ofEmail email: String) -> String?
    /// Explains an access token; `nil` when the text hasn't the form of the provider's tokens. `meantAsIDToken` is true
    /// if the caller took the text for an ID token.
    static func explain(token: String, meantAsIDToken: Bool) -> [ExplainedPart]?
    /// Explains how a client must change a raw nonce, for example hash it, before sending it to the provider. Returns
    /// an empty list when the provider takes a nonce in any form.
    static func explain(rawNonce: String) -> [ExplainedPart]
    /// Explains a client secret. With a test world's seed, this also explains whether the secret fits a client of the
    /// seed. Returns an empty list when the provider's client secrets are random texts.
    static func explain(clientSecret: String, seed: Seed?, now: Instant) -> [ExplainedPart]
    /// Returns a sentence that explains an error code with which a sign-in has returned to the client; `nil` for a code
    /// that isn't the provider's own.
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

/// A kind of value, such as a client secret, that the command `understudy explain` can explain to a developer, but only
/// if the value is for one of certain identity providers.
package enum ExplainedValue: Sendable {
    case clientSecret
    case accessToken
}

/// A part of the explanation of a value, such as a token: a heading, and sentences below the heading.
package struct ExplainedPart: Sendable {
    /// A sentence about the explained value, such as a token: the result of a check, or a mere statement.
    package struct Finding: Sendable {
        /// The result of the check of the explained value, such as a token: `true` if the value has passed the check,
        /// `nil` for information without a check.
        package let holds: Bool?
        /// The sentence about the explained value, such as a token, without a full stop.
        package let text: String
        /// The ID of the recorded request that the sentence is about; `nil` if it isn't about a request.
        package let exchange: String?

        package init(holds: Bool?, _ text: String, exchange: String? = nil) {
            self.holds = holds
            self.text = text
            self.exchange = exchange
        }

        /// Makes a sentence that tells a developer whether a value, such as a token, has passed a check. The sentence
        /// is `text`. If the value has failed the check (`holds` is false), the advice `remedy` follows.
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

    package init(claims: JSONObject) {
        self.init("Claims", claims.members.map { Finding(holds: nil, "\($0.key): \($0.value.text)") })
    }
}
