import HTTPServer
import JOSE
import JSON
import EmulatorCore

// https://docs.github.com/rest/apps/oauth-applications, https://docs.github.com/rest/credentials/revoke
//
// Quirks: an app authenticates with its client ID and secret by Basic. A token that is unknown, or another app's, is 404.
// Deleting the grant kills every token of the person for the app. Revoking credentials takes no authentication at all.

extension GitHubProvider {
    var tokenEndpoints: [RESTEndpoint] {
        [
            RESTEndpoint("POST", "/applications/:client/token", "apps/oauth-applications#check-a-token", .app) {
                checkToken($0)
            },
            RESTEndpoint("PATCH", "/applications/:client/token", "apps/oauth-applications#reset-a-token", .app) {
                [self] in resetToken($0)
            },
            RESTEndpoint("DELETE", "/applications/:client/token", "apps/oauth-applications#delete-an-app-token", .app) {
                call in
                withToken(call) { token in
                    call.exchange.world.update {
                        $0[GitHubState.self].revoke(
                            token.text, because: "the app deleted it, request \(call.exchange.id)")
                    }
                    return .noContent
                }
            },
            RESTEndpoint(
                "DELETE", "/applications/:client/grant", "apps/oauth-applications#delete-an-app-authorization", .app
            ) { call in
                withToken(call) { token in
                    call.exchange.world.update {
                        $0[GitHubState.self].end(
                            token.grant, because: "the app deleted the grant, request \(call.exchange.id)")
                    }
                    return .noContent
                }
            },
            RESTEndpoint("POST", "/applications/:client/token/scoped", "apps/apps#create-a-scoped-access-token", .app) {
                [self] in scopedToken($0)
            },
            RESTEndpoint("POST", "/credentials/revoke", "credentials/revoke#revoke-a-list-of-credentials", .nobody) {
                revokeCredentials($0)
            },
        ]
    }

    // MARK: - One token

    private func checkToken(_ call: RESTCall) -> RESTAnswer {
        withToken(call) { token in .ok(GitHubProvider.authorization(token, call)) }
    }

    /// A new token in place of the old one, with the same scopes.
    private func resetToken(_ call: RESTCall) -> RESTAnswer {
        withToken(call) { token in
            guard let app = call.viewer.app else { return call.notFound(because: "no app calls") }
            return replacement(of: token, app, call, keepsOld: false)
        }
    }

    private func replacement(
        of token: GitHubState.Token, _ app: GitHubSection.App, _ call: RESTCall, keepsOld: Bool
    ) -> RESTAnswer {
        let new = call.exchange.world.update { state -> GitHubState.Token? in
            if !keepsOld {
                state[GitHubState.self].revoke(token.text, because: "the app reset it, request \(call.exchange.id)")
            }
            let fields = issue(
                &state, app, token.grant, token.scopes, wantsRefresh: token.refreshToken != nil,
                isFromDevice: token.isFromDevice)
            let text = fields.first { $0.name == "access_token" }?.value.string
            return text.flatMap { state[GitHubState.self].tokens[$0] }
        }
        return new.map { .ok(GitHubProvider.authorization($0, call)) }
            ?? call.notFound(because: "the token was revoked meanwhile")
    }

    /// A token that is good for less. Repositories aren't played, so the restriction is only told.
    private func scopedToken(_ call: RESTCall) -> RESTAnswer {
        withToken(call) { token in
            guard let app = call.viewer.app, let details = app.details else {
                return RESTAnswer.error(403, "Only GitHub Apps can create scoped access tokens.", call.documentation)
                    .because("OAuth apps have no scoped tokens")
            }
            let body = (try? JSONValue(parsing: call.exchange.request.body)) ?? .null
            guard body["target"]?.string != nil || body["target_id"]?.integer != nil else {
                return GitHubProvider.invalid(call, "\"target\" or \"target_id\" wasn't supplied.")
            }
            let asked = body["permissions"]?.object ?? JSONObject()
            if let extra = asked.keys.first(where: { details.permissions[$0] == nil }) {
                return GitHubProvider.invalid(call, "The permissions requested are not granted to this app.")
                    .because("the app lacks the permission \(Diagnosis.quote(extra)) in the seed")
            }
            let target = body["target"]?.string
            if let target, !details.installations.contains(where: { $0.lowercased() == target.lowercased() }) {
                return call.notFound(because: "the app isn't installed at \(Diagnosis.quote(target)) in the seed")
            }
            return replacement(of: token, app, call, keepsOld: true)
        }
    }

    /// The token that the body names, if it is this app's and still works.
    private func withToken(_ call: RESTCall, _ answer: (GitHubState.Token) -> RESTAnswer) -> RESTAnswer {
        let body = (try? JSONValue(parsing: call.exchange.request.body)) ?? .null
        guard let text = body["access_token"]?.string, !text.isEmpty else {
            return GitHubProvider.invalid(call, "\"access_token\" wasn't supplied.")
        }
        let (token, failure) = call.exchange.world.update { state -> (GitHubState.Token?, String) in
            let now = state.clock.now
            let token = state[GitHubState.self].tokens[text].flatMap { token in
                token.expires.map { $0 > now } ?? true ? token : nil
            }
            return (token, state[GitHubState.self].failure(of: text, now: now))
        }
        guard let token else { return call.notFound(because: "the token \(failure)") }
        guard token.grant.client == call.viewer.app?.clientID else {
            return call.notFound(because: "the token was given to \"\(token.grant.client)\"")
        }
        return answer(token)
    }

    static func invalid(_ call: RESTCall, _ fault: String) -> RESTAnswer {
        RESTAnswer.error(422, "Invalid request.\n\n\(fault)", call.documentation).because(fault)
    }

    private static func authorization(_ token: GitHubState.Token, _ call: RESTCall) -> JSONObject {
        let account = call.exchange.world.update { $0.account(token.grant.account) }
        let app = call.viewer.app
        let made = token.createdAt.text
        let user = account.map { JSONValue.object(UserDocument($0, call.base).simple()) } ?? .null
        return JSONObject([
            ("id", .integer(Int64(token.id))), ("url", .string("\(call.base.api)/authorizations/\(token.id)")),
            (
                "app",
                [
                    "name": .string(app?.name ?? ""), "url": .string(app?.url ?? ""),
                    "client_id": .string(token.grant.client),
                ]
            ),
            ("token", .string(token.text)), ("hashed_token", .string(Hex.encode(Digest.sha256(token.text)))),
            ("token_last_eight", .string(String(token.text.suffix(8)))), ("note", .null), ("note_url", .null),
            ("created_at", .string(made)), ("updated_at", .string(made)),
            ("scopes", .array(token.scopes.scopes.map { .string($0.rawValue) })), ("fingerprint", .null),
            ("expires_at", token.expires.map { .string($0.text) } ?? .null), ("user", user),
        ])
    }

    // MARK: - Many

    /// Accepted, whatever becomes of each: who finds a leaked token needn't know whether it still worked.
    private func revokeCredentials(_ call: RESTCall) -> RESTAnswer {
        let body = (try? JSONValue(parsing: call.exchange.request.body)) ?? .null
        guard let list = body["credentials"]?.array, list.allSatisfy({ $0.string != nil }) else {
            return GitHubProvider.invalid(call, "\"credentials\" must be an array of strings.")
        }
        guard (1...1000).contains(list.count) else {
            return GitHubProvider.invalid(call, "\"credentials\" must hold 1 to 1000 items.")
        }
        call.exchange.world.update { state in
            for text in list.compactMap(\.string) {
                let access = state[GitHubState.self].refreshTokens[text]?.accessToken ?? text
                state[GitHubState.self].revoke(access, because: "request \(call.exchange.id) revoked it as leaked")
            }
        }
        return RESTAnswer.ok([:], status: 202)
    }
}
