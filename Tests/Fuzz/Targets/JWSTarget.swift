import JOSE
import JSON
import EmulatorCore
import Recordings

extension FuzzTarget {
    private static let signers = Result { [try Key.generateP256(), try Key.generateRSA()] }

    /// Reads JSON Web Signatures. The input is a whole text, or, if it begins with a line break, the header, the claims
    /// and the signature on a line each.
    static let jws = FuzzTarget("jws") { bytes in
        let keys = try signers.get()
        let text = compact(bytes)
        guard let token = try? JWS(parsing: text) else { return }
        for (key, algorithm) in zip(keys, [Algorithm.es256, .rs256]) {
            // The keys were made at the start of this process, so no input can have a valid signature.
            try require(token.verify(with: key, algorithm: algorithm) != .valid, "a signature out of nothing: \(text)")
            try require(
                token.verify(with: key, algorithm: algorithm == .es256 ? .rs256 : .es256) == .wrongKeyType,
                "a key of another type was used")
        }
        // If the header and the claims are signed, the token is valid for this key and this algorithm only.
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
