import EmulatorCore
import OAuth

extension GitHubProvider {
    package static var explainedValues: [ExplainedValue: String] {
        [.accessToken: "A token of GitHub's, to check its form"]
    }

    package static func explain(token text: String, meantAsIDToken: Bool) -> [ExplainedPart]? {
        guard let kind = GitHubToken.kind(of: text) else { return nil }
        typealias Finding = ExplainedPart.Finding
        var findings = [Finding(holds: nil, "it begins with \(kind.rawValue): \(kind.about)")]
        if meantAsIDToken {
            let advice = "it isn't an ID token: GitHub issues none; send it as the access token, without a nonce"
            findings.append(Finding(holds: false, advice))
        }
        let length = kind.rawValue.utf8.count + kind.length + GitHubToken.checksumLength
        switch GitHubToken.checksumHolds(in: text) {
        case nil:
            let advice = "it has \(text.utf8.count) characters where \(length) are expected: was it cut off?"
            findings.append(Finding(holds: false, advice))
        case true?:
            findings.append(Finding(holds: true, "its checksum, the last six characters, fits"))
        case false?:
            findings.append(
                Finding(
                    holds: false,
                    "its checksum, the last six characters, doesn't fit: it was mistyped or made up, as the samples in "
                        + "documentation are, or minted with \"tokenChecksum\": \"invalid\""))
        }
        findings.append(Finding(holds: nil, "whether it works, only the server knows: GET /user says"))
        return [ExplainedPart("GitHub token", findings)]
    }

    package static func explain(error: String) -> String? {
        guard let code = OAuthError.Code(rawValue: error) else { return nil }
        switch code {
        case .accessDenied: return "the person chose Cancel at GitHub's page: offer the sign-in again"
        case .redirectURIMismatch:
            return
                "the redirect_uri isn't the app's registered callback URL, nor below it: register it, or send the registered one"
        case .applicationSuspended: return "the app is suspended at GitHub: nobody can sign in with it"
        default: return OAuthError.description(of: code)
        }
    }

    package func issued(_ text: String, in world: World) -> IssuedValue? { world.issued(text, GitHubGrant.self) }

    package func ended(_ text: String, in world: World) -> String? {
        world.read { $0.find(EndedCredential<GitHubGrant>.self, text) }.map { "no longer works: \($0.reason)" }
    }
}
