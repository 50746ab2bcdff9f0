import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The requests of a shop's backend to Apple and Firebase. It knows nothing of Understudy.
public struct SignIn: Sendable {
    /// A failed sign-in.
    public struct Refused: Error, Equatable {
        /// The provider's error.
        public let reason: String
    }

    /// The tokens for an authorization code.
    public struct AppleTokens: Decodable, Sendable {
        /// The ID token, a JWT.
        public let idToken: String
        /// The refresh token, which works until the person removes the app.
        public let refreshToken: String
    }

    /// A person with an account at the shop.
    public struct FirebaseUser: Decodable, Sendable {
        /// The user's ID in the project.
        public let localId: String
        /// The person's e-mail address.
        public let email: String?
        /// Whether this is the first sign-in.
        public let isNewUser: Bool?
    }

    private let apple: String
    private let firebase: String
    private let clientSecret: String

    /// Makes a client of Apple and Firebase.
    ///
    /// - Parameters:
    ///   - apple: Apple's address, without a slash at the end.
    ///   - firebase: the Identity Toolkit's address.
    ///   - clientSecret: a JWT for the app, signed with the team's key.
    public init(
        apple: String = "https://appleid.apple.com", firebase: String = "https://identitytoolkit.googleapis.com",
        clientSecret: String
    ) {
        self.apple = apple
        self.firebase = firebase
        self.clientSecret = clientSecret
    }

    /// Redeems an authorization code that the app got from the device.
    public func redeem(code: String) async throws -> AppleTokens {
        var form = URLComponents()
        form.queryItems = [
            URLQueryItem(name: "grant_type", value: "authorization_code"), URLQueryItem(name: "code", value: code),
            URLQueryItem(name: "client_id", value: "com.example.app"),
            URLQueryItem(name: "client_secret", value: clientSecret),
        ]
        return try await post(
            "\(apple)/auth/token", Data((form.percentEncodedQuery ?? "").utf8), as: "application/x-www-form-urlencoded")
    }

    /// Signs in to Firebase with Apple's ID token.
    public func firebaseUser(idToken: String, rawNonce: String) async throws -> FirebaseUser {
        let body: [String: Any] = [
            "requestUri": "http://localhost", "returnSecureToken": true,
            "postBody": "providerId=apple.com&id_token=\(idToken)&nonce=\(rawNonce)",
        ]
        return try await post(
            "\(firebase)/v1/accounts:signInWithIdp?key=demo-api-key", JSONSerialization.data(withJSONObject: body),
            as: "application/json")
    }

    private func post<Value: Decodable>(_ address: String, _ body: Data, as type: String) async throws -> Value {
        guard let url = URL(string: address) else { throw Refused(reason: "address") }
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.httpBody = body
        request.setValue(type, forHTTPHeaderField: "Content-Type")
        let (data, response) = try await URLSession.shared.data(for: request)
        guard (response as? HTTPURLResponse)?.statusCode == 200 else { throw Refused(reason: SignIn.error(in: data)) }
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try decoder.decode(Value.self, from: data)
    }

    /// Returns the error of an answer: Apple's is a word, Firebase's an object with a message.
    private static func error(in data: Data) -> String {
        let answer = try? JSONSerialization.jsonObject(with: data) as? [String: Any]
        return answer?["error"] as? String ?? (answer?["error"] as? [String: Any])?["message"] as? String ?? "unknown"
    }
}
