import Foundation
import JWTKit

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A Swift backend that receives ID tokens: it verifies them with the provider's published keys, and checks their
/// audience. It prints a line for each token.
@main
struct SwiftClient {
    /// An error that ends the program.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// An ID token of a provider for which jwt-kit has no type.
    struct OpenIDToken: JWTPayload {
        let iss: IssuerClaim
        let sub: SubjectClaim
        let aud: AudienceClaim
        let exp: ExpirationClaim
        let email: String?

        func verify(using algorithm: some JWTAlgorithm) throws { try exp.verifyNotExpired() }
    }

    let daemon: String

    static func main() async throws {
        guard let daemon = ProcessInfo.processInfo.environment["UNDERSTUDY_URL"] else {
            throw Failure(description: "UNDERSTUDY_URL is missing")
        }
        let client = SwiftClient(daemon: daemon)
        try await client.check(
            "apple", as: AppleIdentityToken.self, client: "com.example.app", keys: "appleid.apple.com/auth/keys"
        ) { ($0.audience, $0.email) }
        try await client.check(
            "google", as: GoogleIdentityToken.self, client: "example.apps.googleusercontent.com",
            keys: "www.googleapis.com/oauth2/v3/certs"
        ) { ($0.audience, $0.email) }
        try await client.check(
            "firebase", as: FirebaseAuthIdentityToken.self, client: "demo-app",
            keys: "www.googleapis.com/service_accounts/v1/jwk/securetoken@system.gserviceaccount.com"
        ) { ($0.audience, $0.email) }
        let metadata = try await client.get("oidc/corp/.well-known/openid-configuration")
        guard let keys = try JSONDecoder().decode([String: Member].self, from: metadata)["jwks_uri"]?.text else {
            throw Failure(description: "the issuer's metadata name no keys")
        }
        try await client.check("openid", as: OpenIDToken.self, client: "web", keys: keys) { ($0.aud, $0.email) }
    }

    /// A member of a document, if it is a text.
    private struct Member: Decodable {
        let text: String?

        init(from decoder: any Decoder) throws { text = try? decoder.singleValueContainer().decode(String.self) }
    }

    /// Verifies a token, and some that must be refused.
    private func check<Token: JWTPayload>(
        _ provider: String, as type: Token.Type, client: String, keys path: String,
        reading members: @Sendable (Token) -> (audience: AudienceClaim, email: String?)
    ) async throws {
        let keys = try await JWTKeyCollection().add(jwksJSON: String(decoding: get(path), as: UTF8.self))
        func verified(_ changes: Order = Order()) async throws -> String {
            let token = try await keys.verify(mint(provider, client, changes), as: type)
            let (audience, email) = members(token)
            try audience.verifyIntendedAudience(includes: client)
            return email ?? "no address"
        }
        print("\(provider): \(try await verified())")
        let broken: [(String, Order)] = [
            ("another audience", Order(claims: ["aud": "another"])), ("expired", Order(claims: ["exp": "-1h"])),
            ("invalid", Order(signature: "invalid")), ("unknownKey", Order(signature: "unknownKey")),
            ("wrongAlgorithm", Order(signature: "wrongAlgorithm")), ("none", Order(signature: "none")),
        ]
        for (name, changes) in broken {
            do {
                print("\(provider), \(name): taken, \(try await verified(changes))")
            } catch let error as JWTError {
                print("\(provider), \(name): \(error.errorType)")
            }
        }
    }

    // MARK: - The daemon

    /// An order for a broken token.
    private struct Order: Encodable {
        var claims: [String: String] = [:]
        var signature = "valid"
        var provider = ""
        var client = ""
        var account = "ada"
    }

    private struct Minted: Decodable {
        let token: String
    }

    private func mint(_ provider: String, _ client: String, _ changes: Order) async throws -> String {
        var order = changes
        (order.provider, order.client) = (provider, client)
        return try await JSONDecoder().decode(
            Minted.self, from: get("_understudy/v1/tokens", body: JSONEncoder().encode(order))
        ).token
    }

    /// Gets a document, by its address or its path at the daemon.
    private func get(_ address: String, body: Data? = nil) async throws -> Data {
        guard let url = URL(string: address.contains("://") ? address : "\(daemon)/\(address)") else {
            throw Failure(description: "no address: \(address)")
        }
        var request = URLRequest(url: url)
        if let body {
            request.httpMethod = "POST"
            request.httpBody = body
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        }
        let (data, response) = try await URLSession.shared.data(for: request)
        guard let status = (response as? HTTPURLResponse)?.statusCode, (200...299).contains(status) else {
            throw Failure(description: "\(address): \(String(decoding: data, as: UTF8.self))")
        }
        return data
    }
}
