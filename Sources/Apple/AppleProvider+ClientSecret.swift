import EmulatorCore
import JOSE
import JSON
import Time

extension AppleProvider {
    package static func clientsThatSign(in seed: Seed) -> [String] {
        seed[AppleSection.self].teams.flatMap(\.clientIDs)
    }

    /// Makes a client secret:
    /// <https://developer.apple.com/documentation/accountorganizationaldatasharing/creating-a-client-secret>
    package static func clientSecret(
        for wanted: ClientSecretRequest, seed: Seed
    ) throws(ClientSecretRequest.Refusal) -> String? {
        guard let team = seed[AppleSection.self].teams.first(where: { $0.clientIDs.contains(wanted.client) }) else {
            return nil
        }
        let limit = ClientSecret.maximumLifetime
        guard wanted.lifetime <= limit else {
            throw ClientSecretRequest.Refusal(
                "a client secret that lasts \(wanted.lifetime): Apple allows \(limit.seconds)s at most (six months)")
        }
        let key = try signingKey(of: team, named: wanted.keyID, seed)
        let expiry = wanted.now + wanted.lifetime
        // A secret that has expired was signed an hour before.
        let issue = wanted.lifetime > .zero ? wanted.now : expiry - .hours(1)
        do {
            return try JWS.mint(
                header: JSONObject([("alg", "ES256"), ("kid", .string(key.id))]),
                claims: JSONObject([
                    ("iss", .string(team.id)), ("iat", .integer(issue.seconds)), ("exp", .integer(expiry.seconds)),
                    ("aud", .string(ClientSecret.audience)), ("sub", .string(wanted.client)),
                ]), key: key.key, algorithm: .es256)
        } catch {
            throw ClientSecretRequest.Refusal("key \"\(key.id)\": \(error)")
        }
    }

    private static func signingKey(
        of team: AppleSection.Team, named id: String?, _ seed: Seed
    ) throws(ClientSecretRequest.Refusal) -> (id: String, key: Key) {
        let known = team.keys.map(\.id)
        if let id, !known.contains(id) {
            throw ClientSecretRequest.Refusal(
                "team \"\(team.id)\" has no key \"\(id)\" (\(known.joined(separator: ", ")))"
                    + Spelling.hint(id, among: known))
        }
        for key in team.keys where id == nil || key.id == id {
            if let pem = key.privateKey, let read = seed.keys[pem] { return (id: key.id, key: read) }
        }
        guard let id = id ?? known.first else {
            throw ClientSecretRequest.Refusal(
                "team \"\(team.id)\" has no key: add one to its \"keys\", with an \"id\" and a \"privateKeyFile\"")
        }
        throw ClientSecretRequest.Refusal(
            "the seed has the public half only of key \"\(id)\" of team \"\(team.id)\": add its \"privateKeyFile\"")
    }
}

extension AppleSection.Team {
    /// The IDs of apps and services.
    fileprivate var clientIDs: [String] { apps.map(\.bundleID) + services.map(\.id) }
}
