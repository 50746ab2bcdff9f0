import JOSE
import JSON
import EmulatorCore
import Recordings

extension FuzzTarget {
    private static let signers = Result { [try Key.generateP256(), try Key.generateRSA()] }

    /// JSON Web Signatures: as a text, or (after a line break at the start) as header, claims and signature a line each.
    static let jws = FuzzTarget("jws") { bytes in
        let keys = try signers.get()
        let text = compact(bytes)
        guard let token = try? JWS(parsing: text) else { return }
        for (key, algorithm) in zip(keys, [Algorithm.es256, .rs256]) {
            // Nobody has signed anything with keys that were made when this began.
            try require(token.verify(with: key, algorithm: algorithm) != .valid, "a signature out of nothing: \(text)")
            try require(
                token.verify(with: key, algorithm: algorithm == .es256 ? .rs256 : .es256) == .wrongKeyType,
                "a key of another type was used")
        }
        // What was read can be signed, and is then valid for this key and no other algorithm.
        let minted = try JWS.mint(header: token.header, claims: token.claims, key: keys[0], algorithm: .es256)
        guard minted.utf8.count <= JWS.maximumLength else { return }
        guard let again = try? JWS(parsing: minted) else { throw Finding("minted so that it can't be read: \(minted)") }
        try require(
            again.verify(with: keys[0], algorithm: .es256) == .valid, "our own signature isn't valid: \(minted)")
        try require(
            JSONValue.object(again.claims).text == JSONValue.object(token.claims).text, "claims changed: \(minted)")
        _ = (ECDSASignature.raw(fromDER: token.signature), ECDSASignature.der(fromRaw: token.signature))
        _ =
            NonceComparison(tokenNonce: token.claims["nonce"]?.string, rawNonce: token.claims["raw"]?.string)
            .explanation(provider: "the provider")
    }

    private static func compact(_ bytes: [UInt8]) -> String {
        guard bytes.first == UInt8(ascii: "\n") else { return String(decoding: bytes, as: UTF8.self) }
        return bytes.dropFirst().split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .map { Base64URL.encode(Array($0)) }.joined(separator: ".")
    }
}
