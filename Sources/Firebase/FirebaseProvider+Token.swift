import JSON
import EmulatorCore
import Time

extension FirebaseProvider {
    /// A user of the project, by local ID or e-mail address, or one with the e-mail address of a seeded person.
    package func token(for wanted: TokenRequest, in exchange: Exchange) throws(ControlRefusal) -> TokenDraft? {
        guard let project = projects.project(id: wanted.client) else {
            throw wanted.noSuchClient("project", hint: "")
        }
        do throws(FirebaseError) { try exchange.admit(project) } catch {
            throw ControlRefusal(ControlAnswer.error(429, "tooManyProjects", error.diagnosis.line, path: "$.client"))
        }
        let call = FirebaseCall(exchange, project: project, isAdmin: true, body: JSONObject())
        let person = exchange.world.update { state in wanted.account.flatMap { state.account($0)?.email } }
        let (user, now) = call.update { state, context -> (User?, Instant) in
            let name = wanted.account
            let first = state.order.first.flatMap { state.users[$0] }
            guard let name else { return (first, context.now) }
            let found = state.users[name] ?? state.user(email: name) ?? person.flatMap { state.user(email: $0) }
            return (found, context.now)
        }
        guard let user else {
            let message = wanted.account.map { "no user \(Diagnosis.quote($0)) in" } ?? "nobody has signed up in"
            throw ControlRefusal(
                ControlAnswer.error(
                    404, "noSuchAccount", "\(message) project \(Diagnosis.quote(wanted.client))", path: "$.account"))
        }
        let session = ProjectState.Session(
            localId: user.localId, provider: user.links.first?.providerId ?? "password", authTime: now)
        var claims = call.claims(session, user, at: now)
        claims["nonce"] = wanted.nonce.map { .string($0) }
        return TokenDraft(claims: claims, owner: .firebase, withType: true, isSigned: call.signsTokens)
    }
}
