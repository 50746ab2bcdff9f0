import Foundation
import Testing

/// Mints and verifies JSON Web Tokens with PyJWT, which isn't our code, in another process: one call for many tokens.
package enum TokenVerifier {
    /// Whether PyJWT is installed. On Linux, `make test` installs it, so a test without it fails.
    static let isHere: Bool =
        Machine.isLinux || (try? Shell.run(python, ["-c", "import jwt, cryptography"]).status == 0) ?? false

    /// A token, and its expected properties.
    package struct Check {
        let members: [String: Any]

        /// Describes a token. Without `audience` or `issuer`, any is accepted; with `lifetime: false`, any time is.
        /// `keys` is a JWK Set.
        package init(
            _ token: String?, keys: String, algorithms: [String] = ["RS256"], audience: String? = nil,
            issuer: String? = nil, requires: [String] = ["iss", "sub", "aud", "exp", "iat"], lifetime: Bool = true
        ) throws {
            var members: [String: Any] = [
                "token": token ?? "", "keys": try JSONSerialization.jsonObject(with: Data(keys.utf8)),
                "algorithms": algorithms, "requires": requires, "lifetime": lifetime,
            ]
            members["audience"] = audience
            members["issuer"] = issuer
            self.members = members
        }
    }

    /// PyJWT's result for a token.
    package struct Verdict: CustomStringConvertible {
        /// The claims of a token that was verified.
        package let claims: [String: Any]?
        /// The name of PyJWT's error, such as `InvalidSignatureError`, or `UnknownKey`.
        package let refusal: String?
        package let description: String

        package var isValid: Bool { claims != nil }

        init(_ answer: [String: Any]) {
            claims = answer["claims"] as? [String: Any]
            let text = answer["refusal"] as? String
            refusal = text.map { String($0.prefix { $0 != ":" }) }
            description = text ?? "\(answer)"
        }
    }

    /// An answer of PyJWT that isn't the expected one.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// Verifies tokens, and returns a verdict on each.
    package static func verify(_ checks: [Check]) throws -> [Verdict] {
        try run(checks.map(\.members)).map { Verdict($0) }
    }

    /// Verifies a token, and returns its claims, or throws the reason why it was refused.
    package static func claims(of check: Check) throws -> [String: Any] {
        let verdicts = try verify([check])
        guard let claims = verdicts.first?.claims else {
            throw Failure(description: verdicts.first?.description ?? "no verdict")
        }
        return claims
    }

    /// Mints a token with `key`, which is a JWK.
    package static func mint(
        _ claims: [String: Any], key: [String: Any], algorithm: String, header: [String: Any] = [:]
    ) throws -> String {
        let answers = try run([["claims": claims, "key": key, "algorithm": algorithm, "header": header]])
        guard let token = answers.first?["token"] as? String else { throw Failure(description: "\(answers)") }
        return token
    }

    /// Debian's Python, which finds Debian's packages, even if another one precedes it in PATH.
    private static let python = "/usr/bin/python3"

    private static func run(_ requests: [[String: Any]]) throws -> [[String: Any]] {
        let input = try JSONSerialization.data(withJSONObject: requests)
        let result = try Shell.run(
            python, ["-B", "\(Repository.root)/Tests/Verify/token_verifier.py"],
            input: String(decoding: input, as: UTF8.self))
        let answers = try? JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [[String: Any]]
        guard result.status == 0, let answers, answers.count == requests.count else {
            throw Failure(description: "PyJWT: \(result.errors)\(result.output)")
        }
        return answers
    }
}

extension Trait where Self == ConditionTrait {
    /// For a test that needs PyJWT.
    package static var pyJWT: Self {
        .enabled(if: TokenVerifier.isHere, "needs PyJWT, which `make test` installs on Debian only")
    }
}
