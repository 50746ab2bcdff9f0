import JSON
import EmulatorCore
import Time

extension FirebaseProvider {
    /// Drafts an ID token for a user of the project, found by local ID or e-mail address, or made from the seeded
    /// person with this e-mail address.
    package func token(for wanted: TokenRequest, in exchange: Exchange) throws -> TokenDraft? {
        // A project that was taken on trust exists from then on.
        let pool = UserPool(project: wanted.client, tenant: nil)
        let isMade = exchange.world.read { $0.find(UnseededPool.self, pool) != nil }
        guard let project = projects.project(id: wanted.client) ?? (isMade ? Project(unseeded: wanted.client) : nil)
        else { throw wanted.noSuchClient("project", hint: "") }
        do { try exchange.admit(project) } catch let error as FirebaseError {
            throw ControlRefusal(ControlAnswer.error(429, "tooManyProjects", error.diagnosis.line, path: "$.client"))
        }
        let call = FirebaseCall(exchange, project: project, isAdmin: true, body: JSONObject())
        let (user, now) = call.read { tables -> (User?, Instant) in
            guard let name = wanted.account else { return (tables.first(User.byPool, call.pool), tables.now) }
            let found = tables.user(name, in: call.pool) ?? tables.user(email: name, in: call.pool)
            guard found == nil, let email = tables.account(name)?.email else { return (found, tables.now) }
            return (tables.user(email: email, in: call.pool), tables.now)
        }
        guard let user else {
            let message = wanted.account.map { "no user \(Diagnosis.quote($0)) in" } ?? "nobody has signed up in"
            throw ControlRefusal(
                ControlAnswer.error(
                    404, "noSuchAccount", "\(message) project \(Diagnosis.quote(wanted.client))", path: "$.account"))
        }
        let session = Session(
            refreshToken: "", user: user.key, provider: user.links.first?.providerId ?? "password", authTime: now)
        var claims = call.claims(session, user, at: now)
        claims["nonce"] = wanted.nonce.map { .string($0) }
        return TokenDraft(claims: claims, owner: .firebase, type: "JWT", isSigned: call.signsTokens)
    }
}
