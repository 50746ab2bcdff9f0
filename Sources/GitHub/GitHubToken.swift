import JOSE

/// The form of GitHub's tokens: a prefix for the kind, random characters, and their checksum.
///
/// The checksum is CRC-32 of the random characters, in base 62 with the alphabet `0-9A-Za-z`, six digits.
/// <https://github.blog/engineering/platform-security/behind-githubs-new-authentication-token-formats/>
package enum GitHubToken {
    package enum Kind: String, CaseIterable, Sendable {
        case personal = "ghp_"
        case oauthApp = "gho_"
        case gitHubAppUser = "ghu_"
        case installation = "ghs_"
        case refresh = "ghr_"

        /// The number of random characters before the checksum. Refresh tokens have 76 characters after the prefix; how
        /// these are divided isn't documented.
        package var length: Int { self == .refresh ? 70 : 30 }

        /// The kind, in a sentence after "it is".
        package var about: String {
            switch self {
            case .personal: "a personal access token"
            case .oauthApp: "an OAuth app's access token"
            case .gitHubAppUser: "a GitHub App's user access token"
            case .installation: "a GitHub App's installation access token"
            case .refresh: "a refresh token"
            }
        }
    }

    private static let alphabet = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
    package static let checksumLength = 6

    /// Makes a token. With `isGenuine` false, its checksum is wrong, so that secret scanners ignore it.
    static func make(_ kind: Kind, from random: inout Randomness, isGenuine: Bool = true) -> String {
        let body = random.text(kind.length, from: alphabet)
        var sum = checksum(of: Array(body.utf8))
        if !isGenuine, let last = sum.popLast() { sum.append(last == alphabet[0] ? alphabet[1] : alphabet[0]) }
        return kind.rawValue + body + String(decoding: sum, as: UTF8.self)
    }

    /// Returns the checksum, six digits of base 62.
    package static func checksum(of random: [UInt8]) -> [UInt8] {
        var rest = Int(CRC32.checksum(random))
        var digits: [UInt8] = []
        for _ in 0..<checksumLength {
            digits.append(alphabet[rest % 62])
            rest /= 62
        }
        return digits.reversed()
    }

    /// Returns the kind of a token by its prefix; `nil` if it has none of these.
    package static func kind(of text: String) -> Kind? { Kind.allCases.first { text.hasPrefix($0.rawValue) } }

    /// Whether the checksum is right; `nil` if the length isn't this kind's.
    package static func checksumHolds(in text: String) -> Bool? {
        guard let kind = kind(of: text) else { return nil }
        let body = Array(text.utf8.dropFirst(kind.rawValue.utf8.count))
        guard body.count == kind.length + checksumLength else { return nil }
        return Array(body.suffix(checksumLength)) == checksum(of: Array(body.prefix(kind.length)))
    }
}
