import Control
import EmulatorCore
import HTTPClient
import Time

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What `understudy explain` says of a token, a nonce or a client secret: findings, each of which holds or doesn't.
public struct Explanation: Sendable {
    /// One sentence about one thing.
    public struct Finding: Sendable {
        /// Whether it is as it should be; `nil` for a mere statement.
        public let holds: Bool?
        /// The sentence, without a full stop.
        public let text: String
    }

    /// In the order in which things were looked at, under headings.
    public private(set) var sections: [(heading: String, findings: [Finding])] = []

    /// Whether nothing was found to be wrong.
    public var isClean: Bool { sections.allSatisfy { $0.findings.allSatisfy { $0.holds ?? true } } }

    /// Examines everything that is given.
    ///
    /// - Parameters:
    ///   - rawNonce: the text whose SHA-256 the app sent to the provider.
    ///   - token: an access token whose form tells which provider made it, or an ID token.
    ///   - jwks: a JSON Web Key Set, as text, to check the ID token's signature with.
    ///   - seeds: whose teams and keys a client secret is checked against; none are needed.
    ///   - now: seconds since 1970, to the end of the year 9999; the machine's time by default.
    /// - Throws: ``StartError`` when a seed can't be used.
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
            add(Providers.all.flatMap { $0.explain(rawNonce: rawNonce) })
        }
        if let clientSecret {
            let seed = seeds.isEmpty ? nil : try SeedInput.load(seeds)
            add(Providers.all.flatMap { $0.explain(clientSecret: clientSecret, seed: seed, now: now) })
        }
    }

    /// Reads a key set from a file, or from an http or https URL.
    ///
    /// - Throws: ``StartError`` when it can't be read.
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
