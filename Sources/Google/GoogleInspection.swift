import EmulatorCore
import JSON
import OAuth
import Recordings

// These sections describe a person at Google.

extension GoogleProvider {
    package func sections(of account: Account, in exchange: Exchange) -> [InspectedSection] {
        var profile = InspectedItem("Google Account")
        profile.facts = [InspectedFact("sub", .code(account.google.sub))]
        if let domain = account.google.hostedDomain { profile.facts.append(InspectedFact("hd", .code(domain))) }
        profile.documents = [InspectedDocument("GET /v1/userinfo", userInfo(of: account))]
        let apps = InspectedGrants<GoogleGrant>(of: account, in: exchange.world).section {
            $0.details.scopes.names
        } _: { grant in
            var item = InspectedItem(
                grant, named: clients[grant.client]?.name, since: grant.since, scopes: grant.scopes.sorted(),
                of: account, at: name)
            if let expires = grant.expires { item.facts.append(InspectedFact("Ends", .time(expires))) }
            return item
        }
        return [InspectedSection("Profile", [profile]), apps]
    }

    /// Returns the user info that Google gives about the person to clients with the scopes `email` and `profile`.
    private func userInfo(of account: Account) -> JSONValue {
        var body = JSONObject([("sub", .string(account.google.sub))])
        for (name, value) in GoogleScopes(["email", "profile"]).profile(of: account) { body[name] = value }
        body["hd"] = account.google.hostedDomain.map { .string($0) }
        return .object(body)
    }
}

extension GoogleProvider {
    /// Explains what is missing in a recorded response of Google's token endpoint, such as the ID token:
    /// <https://developers.google.com/identity/openid-connect/openid-connect#exchangecode>
    func remarks(on exchange: RecordedExchange, in flow: [RecordedExchange]) -> [String] {
        guard exchange.response.status == 200,
            let tokens = try? JSONValue(parsing: exchange.response.body, limits: .answer),
            exchange.request.bodyForm["grant_type"] == "authorization_code"
        else { return [] }
        var remarks: [String] = []
        if tokens["id_token"] == nil {
            remarks.append(
                "There is no ID token because none of the scopes openid, email and profile was asked for at the authorization."
            )
        }
        // Authorization requests may also be posted.
        let asked = flow.lazy.filter { $0.host == "accounts.google.com" }
            .flatMap { [$0.request.queryForm, $0.request.bodyForm] }.first { $0["client_id"] != nil }
        if tokens["refresh_token"] == nil, asked?["access_type"] == "offline" {
            remarks.append(
                "There is no refresh token because the person has authorized the app before: Google gives another one only with "
                    + "prompt=consent.")
        }
        if let asked, let id = asked["client_id"], let client = clients[id],
            let wished = try? ClaimsParameter(asked["claims"])
        {
            for claim in GoogleClient.sessionClaims
            where wished.idToken[claim] != nil && !client.sessionClaims.contains(claim) {
                remarks.append(
                    "The ID token has no \(claim) because the client may not ask for it: Google gives it to verified apps that have it "
                        + "switched on, which \"sessionClaims\" of the client in the seed says.")
            }
        }
        return remarks
    }
}
