import Foundation
import JOSE
import TestSupport
import Testing

/// A broken token, and the words about it on the page of its exchange.
struct BrokenToken: Sendable, CustomStringConvertible {
    /// The effect's `token`, as JSON.
    let effect: String
    let words: String

    init(_ effect: String, _ words: String) {
        self.effect = effect
        self.words = words
    }

    var description: String { effect }

    static let all = [
        BrokenToken(#"{"claims":{"exp":"-1h"}}"#, "expired 60 min ago"),
        BrokenToken(#"{"claims":{"exp":1795359828000}}"#, "the time is in milliseconds"),
        BrokenToken(#"{"claims":{"exp":1e300}}"#, "isn't a whole number"),
        BrokenToken(#"{"claims":{"exp":-9223372036854775808}}"#, "isn't a whole number"),
        BrokenToken(#"{"claims":{"exp":null}}"#, "exp is missing"),
        BrokenToken(#"{"claims":{"iat":"1h"}}"#, "a clock is wrong"),
        BrokenToken(#"{"claims":{"nbf":"1h"}}"#, "becomes valid only in"),
        BrokenToken(#"{"claims":{"auth_time":"1h"}}"#, "in the future"),
        BrokenToken(
            #"{"claims":{"aud":"com.example.web"}}"#, #"isn't for "com.example.app""#),
        BrokenToken(#"{"claims":{"aud":7}}"#, "or a list of strings"),
        BrokenToken(
            #"{"claims":{"iss":"https://evil.example"}}"#, "but iss names no provider here"),
        BrokenToken(
            #"{"claims":{"iss":"https://accounts.google.com"}}"#, "but iss names Google"),
        BrokenToken(#"{"claims":{"sub":null}}"#, "sub is missing"),
        BrokenToken(#"{"claims":{"sub":["x"]}}"#, "the claim must be a string"),
        BrokenToken(#"{"claims":{"nonce":null}}"#, "nonce is missing"),
        BrokenToken(#"{"claims":{"nonce":"other"}}"#, "isn't the one that was sent to Apple"),
        BrokenToken(#"{"claims":{"email_verified":false}}"#, "link accounts by it"),
        BrokenToken(#"{"claims":{"email_verified":"yes"}}"#, "the claim must be true or false"),
        BrokenToken(#"{"claims":{"c_hash":"wrong"}}"#, "the hash doesn't match the code"),
        BrokenToken(#"{"signature":"invalid"}"#, "isn't by Apple's"),
        BrokenToken(#"{"signature":"unknownKey"}"#, "but the key is never published"),
        BrokenToken(#"{"signature":"wrongAlgorithm"}"#, "HS256 with Apple's public key"),
        BrokenToken(#"{"signature":"none"}"#, "alg is none"),
        BrokenToken(#"{"header":{"kid":"nobody's"}}"#, #"has the kid "nobody's""#),
        BrokenToken(#"{"header":{"kid":null}}"#, "header has no kid"),
        BrokenToken(#"{"header":{"alg":"ES256"}}"#, "that key signs with RS256"),
        BrokenToken(#"{"header":{"alg":"HS512"}}"#, #"alg is "HS512""#),
    ]
}

/// A nonce on its way from the app over Apple to Firebase, and the words about it on the page.
struct NonceWay: Sendable, CustomStringConvertible {
    let description: String
    let sent: String?
    let handed: String?
    let words: String

    static let all: [NonceWay] = {
        let raw = InspectorFixture.rawNonce
        let digest = Digest.sha256(raw)
        let hex = Hex.encode(digest)
        return [
            NonceWay(
                description: "as it should be", sent: hex, handed: raw,
                words: "that was sent to Firebase Authentication"),
            NonceWay(
                description: "raw to Apple", sent: raw, handed: raw, words: "raw nonce itself"),
            NonceWay(
                description: "hash to Firebase", sent: hex, handed: hex,
                words: "hash was given in place"),
            NonceWay(
                description: "base64", sent: Base64.encode(digest), handed: raw,
                words: "in base64: "),
            NonceWay(
                description: "base64url", sent: Base64URL.encode(digest), handed: raw,
                words: "in base64url"),
            NonceWay(
                description: "upper case", sent: hex.uppercased(), handed: raw,
                words: "in upper-case hex"),
            NonceWay(
                description: "hashed twice", sent: Hex.encode(Digest.sha256(hex)), handed: raw,
                words: "hashed twice"),
            NonceWay(
                description: "another one", sent: hex, handed: "another raw nonce",
                words: "isn't made from"),
            NonceWay(
                description: "none at Apple", sent: nil, handed: raw,
                words: "carries no nonce"),
            NonceWay(
                description: "none at Firebase", sent: hex, handed: nil,
                words: "raw nonce that isn't known"),
        ]
    }()
}

@Suite("What pages say of tokens") struct TokenWordsTests {
    let fixture: InspectorFixture

    init() throws { fixture = try InspectorFixture() }

    @Test("a token that is as it should be") func whole() throws {
        let words = try fixture.shown(fixture.native()).words
        for expected in [
            "ID token of Apple", "nothing wrong", "signed by Apple's key", "which is published",
            "expires in 23 h", "s ago by the world's clock",
            "a client configured in the seed: App ID of team A1B2C3D4E5",
            "Ada Lovelace at team A1B2C3D4E5", "the nonce that was sent to Apple", "the code that came with the token",
        ] {
            #expect(words.contains(expected), "\(expected)")
        }
        #expect(!words.contains("Wrong:"))
    }

    @Test("a token that was broken on order", arguments: BrokenToken.all)
    func broken(token: BrokenToken) throws {
        _ = try fixture.call("clock", ["freeze": true])
        let effect = try JSONSerialization.jsonObject(with: Data(token.effect.utf8))
        let order = try fixture.call(
            "faults", ["match": ["path": "*apple/authorizations"], "effect": ["token": effect]] as [String: Any])
        #expect(order.status == 201)
        let signIn = try fixture.native()
        let words = try fixture.shown(signIn).words
        #expect(words.contains(token.words))
        #expect(words.contains("Wrong:") && words.contains(#/[0-9]+ things? (is|are) wrong/#))
        // The control API says the same about the token alone; its recording knows the provider that made it.
        let explained = try fixture.explain(signIn["identityToken"] ?? "").findings
        #expect(explained.contains { $0.hasPrefix("WRONG") && $0.contains(token.words) })
    }

    @Test("a nonce, handed over rightly or not", arguments: NonceWay.all)
    func nonce(way: NonceWay) throws {
        let token = try fixture.native(nonce: way.sent)["identityToken"]
        let body = FirebaseFixture.postBody("apple.com", idToken: token, nonce: way.handed)
        let assertion = try fixture.client.post(
            "\(FirebaseFixture.toolkit)/v1/accounts:signInWithIdp?key=\(FirebaseFixture.key)",
            json: ["requestUri": "http://localhost", "postBody": body, "returnSecureToken": true] as [String: Any])
        #expect(try fixture.shown(assertion).words.contains(way.words))
        guard let handed = way.handed else { return }
        // Without the flow, both values are given.
        _ = try fixture.call("reset", [:])
        let explained = try fixture.explain(token ?? "", rawNonce: handed).findings
        let words = way.words.replacingOccurrences(of: "was sent to Firebase Authentication", with: "was given here")
        #expect(explained.contains { $0.contains(words) })
    }

    @Test("a key that was rotated away") func rotated() throws {
        let signIn = try fixture.native()
        for _ in 0..<3 { _ = try fixture.call("apple/keys/rotate", [:]) }
        #expect(try fixture.shown(signIn).words.contains("but the key was rotated out"))
    }

    @Test("an unsigned token of Firebase's in emulator mode is no fault") func unsigned() throws {
        let signUp = try fixture.client.post(
            "\(FirebaseFixture.toolkit)/v1/accounts:signUp?key=\(FirebaseFixture.key)",
            json: ["email": "new@example.com", "password": "correct horse", "returnSecureToken": true] as [String: Any])
        let words = try fixture.shown(signUp).words
        #expect(words.contains("only Firebase SDKs in emulator"))
        #expect(words.contains("the user new@example.com of project demo-app"))
    }

    @Test("a client secret against the seed") func clientSecret() throws {
        let late = try AppleFixture.secret(claims: ["exp": .integer(1_000), "iat": .integer(900)])
        let answer = try fixture.client.post(
            "\(AppleFixture.prefix)/auth/token",
            form: [
                "client_id": AppleFixture.service, "client_secret": late, "grant_type": "authorization_code",
                "code": "c",
            ])
        let words = try fixture.shown(answer).words
        #expect(words.contains("Client secret") && words.contains("s ago: sign a new one"))
        #expect(words.contains("signature is the key's") && words.contains("meant for Apple"))
        let pasted = try fixture.explain(AppleFixture.secret())
        #expect(pasted.kind == "A JSON Web Token: Client secret")
        #expect(!pasted.findings.contains { $0.hasPrefix("WRONG") })
        let foreign = try fixture.explain(AppleFixture.secret(team: "ZZZZZZZZZZ"))
        #expect(foreign.findings.contains { $0.hasPrefix("WRONG no team") })
    }
}
