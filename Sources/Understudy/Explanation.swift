import Control
import EmulatorCore
import HTTPClient
import Recordings
import Time

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The report of the command `understudy explain` on a token, a nonce or a client secret: sentences about its
/// properties, with the errors.
public struct Explanation: Sendable {
    /// One sentence of the report on a token, nonce or client secret that a developer has given to be checked.
    public struct Finding: Sendable {
        /// `true` if ``text`` says that something is right, `false` if ``text`` reports an error, `nil` if ``text`` is
        /// only information.
        public let holds: Bool?
        /// A sentence of the report on a checked token, nonce or client secret. It has no full stop.
        public let text: String
    }

    /// The sentences that explain the token, nonce or client secret, grouped under headings.
    public private(set) var sections: [(heading: String, findings: [Finding])] = []

    /// Whether no error was found in the token, nonce or client secret.
    public var isClean: Bool { sections.allSatisfy { $0.findings.allSatisfy { $0.holds ?? true } } }

    /// Explains and checks the given token, nonce or client secret.
    ///
    ///     let explanation = try Explanation(idToken: token, rawNonce: nonce)
    ///     print(explanation.isClean)
    ///
    /// - Parameters:
    ///   - idToken: an ID token.
    ///   - rawNonce: the raw nonce; the app sent its SHA-256 digest to the provider.
    ///   - clientSecret: a client secret that the client has signed.
    ///   - token: an ID token, or an access token whose form shows which provider has issued it.
    ///   - jwks: a JSON Web Key Set, as text, for the ID token's signature.
    ///   - seeds: seeds (test data) with the teams and keys for a client secret; may be empty.
    ///   - now: the time in seconds since 1970, to the end of the year 9999; by default the machine's time.
    /// - Throws: ``StartError`` if a seed can't be used.
    public init(
        idToken: String? = nil, rawNonce: String? = nil, clientSecret: String? = nil, token: String? = nil,
        jwks: String? = nil, seeds: [SeedInput] = [],
        now: Int64? = nil
    ) throws {
        let now = now.map { Instant(seconds: $0) ?? ($0 < 0 ? .first : .last) } ?? MachineClock.now
        for text in [idToken, token].compactMap({ $0?.filter { !$0.isWhitespace } }) {
            let explainer = TokenExplainer(Providers.all, rawNonce: rawNonce, jwks: jwks, now: now)
            add(explainer.explain(text, meantAsIDToken: text == idToken))
        }
        if idToken == nil, token == nil, let rawNonce {
            add(Providers.all.explainers.flatMap { $0.explain(rawNonce: rawNonce) })
        }
        if let clientSecret {
            let seed = seeds.isEmpty ? nil : try SeedInput.load(seeds)
            add(Providers.all.explainers.flatMap { $0.explain(clientSecret: clientSecret, seed: seed, now: now) })
        }
    }

    /// Reads a JSON Web Key Set from a file, or from an http or https URL.
    ///
    /// - Throws: ``StartError`` if the key set can't be read.
    public static func readKeySet(_ place: String) throws -> String {
        do {
            if place.hasPrefix("http://") || place.hasPrefix("https://") {
                let answer = try OutgoingRequest.send("GET", to: place)
                guard answer.status == 200 else { throw StartError(description: "\(place) answered \(answer.status)") }
                return String(decoding: answer.body, as: UTF8.self)
            }
            return try File.text(at: place)
        } catch let error as StartError {
            throw error
        } catch let error as OutgoingRequest.Failure {
            throw StartError(description: error.description)
        } catch {
            throw StartError(description: "\(error)")
        }
    }

    private mutating func add(_ parts: [ExplainedPart]) {
        sections += parts.map { part in
            (heading: part.heading, findings: part.findings.map { Finding(holds: $0.holds, text: $0.text) })
        }
    }
}
