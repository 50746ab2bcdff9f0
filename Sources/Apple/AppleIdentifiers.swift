import JOSE

/// Makes the identifiers that Apple keeps stable. They follow only from the person and the team, so a restart, a reset
/// or a revocation doesn't change them.
enum AppleIdentifiers {
    /// Returns the `sub`, `000000.<32 hex>.0000`: one for each person and team.
    static func subject(account: String, team: String) -> String {
        compose(Digest.sha256("apple:sub:\(team):\(account)"))
    }

    /// Returns the identifier of a person during the transfer of an app from one team to another.
    static func transferSubject(account: String, from: String, to: String) -> String {
        compose(Digest.sha256("apple:transfer:\(from):\(to):\(account)"))
    }

    /// The domain of private relay addresses.
    static let relayDomain = "@privaterelay.appleid.com"

    /// Returns the relay address, ten lower-case letters and digits before `relayDomain`: one for each person and team.
    static func relayAddress(account: String, team: String) -> String {
        let alphabet = Array("abcdefghijklmnopqrstuvwxyz0123456789".utf8)
        let digest = Digest.sha256("apple:relay:\(team):\(account)")
        let local = digest.prefix(10).map { alphabet[Int($0) % alphabet.count] }
        return String(decoding: local, as: UTF8.self) + relayDomain
    }

    /// Returns an identifier of a digest. Real ones begin with a small number and end with a time of day.
    private static func compose(_ digest: [UInt8]) -> String {
        let first = (Int(digest[16]) << 8 | Int(digest[17])) % 2000
        let hour = Int(digest[18]) % 24
        let minute = Int(digest[19]) % 60
        return "\(pad(first, 6)).\(Hex.encode(Array(digest.prefix(16)))).\(pad(hour, 2))\(pad(minute, 2))"
    }

    private static func pad(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}

/// Makes and recognizes codes and tokens in Apple's form, `c<32 hex>.0.<4 letters>.<22 base64url>`. The first part is
/// random, and the rest follows from it. So a token that was never issued here can be told from a forgotten one.
enum AppleToken {
    case code
    case access
    case refresh

    /// The length in bytes.
    private static let length = 63

    /// Returns a new one, made of 128 random bits.
    func make(from random: inout Randomness) -> String {
        String(decoding: text(Array(Hex.encode(random.bytes(16)).utf8)[...]), as: UTF8.self)
    }

    /// The first letter.
    private var letter: UInt8 {
        switch self {
        case .code: UInt8(ascii: "c")
        case .access: UInt8(ascii: "a")
        case .refresh: UInt8(ascii: "r")
        }
    }

    private func text(_ hex: ArraySlice<UInt8>) -> [UInt8] {
        let digest = Digest.sha256(Array("apple:".utf8) + [letter, UInt8(ascii: ":")] + hex)
        var text: [UInt8] = []
        text.reserveCapacity(AppleToken.length)
        text.append(letter)
        text += hex
        text += ".0.".utf8
        for byte in digest[..<4] { text.append(UInt8(ascii: "a") + byte % 26) }
        text.append(UInt8(ascii: "."))
        text += Base64URL.encode(Array(digest[4..<20])).utf8
        return text
    }

    /// Whether the text has this kind's form and consistent parts, so that it was made here.
    func fits(_ text: String) -> Bool {
        guard text.utf8.count == AppleToken.length else { return false }
        let bytes = Array(text.utf8)
        return bytes[0] == letter && constantTimeEquals(self.text(bytes[1..<33]), bytes)
    }

    /// Describes the kind of a text, for a diagnosis.
    static func describe(_ text: String) -> String {
        if text.isEmpty { return "nothing" }
        if text.hasPrefix("eyJ") { return "a JSON Web Token" }
        if code.fits(text) { return "an authorization code" }
        if access.fits(text) { return "an access token" }
        if refresh.fits(text) { return "a refresh token" }
        return "a text that this Apple never issued"
    }
}
