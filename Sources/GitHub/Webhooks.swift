import HTTPServer
import JOSE
import JSON
import OAuth
import EmulatorCore

// The webhook `github_app_authorization` is sent when a person revokes a GitHub App.
//
// Quirks: OAuth apps have none. A failed delivery isn't repeated. Only a person's own revocation is reported, not an
// app's.

extension OutgoingMessage {
    /// Makes a webhook request of GitHub's.
    fileprivate init(
        webhook event: String, _ payload: JSONValue, to url: String, app: GitHubSection.App.Details, delivery: [UInt8]
    ) {
        let body = payload.serialized()
        var headers = [
            (name: "User-Agent", value: "GitHub-Hookshot/understudy"), (name: "X-GitHub-Event", value: event),
            (name: "X-GitHub-Delivery", value: OutgoingMessage.identifier(delivery)),
            (name: "X-GitHub-Hook-ID", value: String(app.id)),
            (name: "X-GitHub-Hook-Installation-Target-ID", value: String(app.id)),
            (name: "X-GitHub-Hook-Installation-Target-Type", value: "integration"),
        ]
        if let secret = app.webhookSecret {
            let key = Array(secret.utf8)
            headers += [
                (name: "X-Hub-Signature", value: "sha1=" + Hex.encode(Digest.hmacSHA1(key: key, body))),
                (name: "X-Hub-Signature-256", value: "sha256=" + Hex.encode(Digest.hmacSHA256(key: key, body))),
            ]
        }
        self.init(to: url, contentType: "application/json", headers: headers, body: body, patience: 10)
    }

    private static func identifier(_ bytes: [UInt8]) -> String {
        let digits = Array(Hex.encode(bytes))
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }.joined(separator: "-")
    }
}

extension GitHubProvider {
    /// The result of ending a person's grant to a GitHub app.
    struct Revocation: Sendable {
        /// The webhook that reports the ended grant, for a GitHub App that has a webhook URL.
        var webhook: OutgoingMessage?
    }

    /// Ends a person's grant to a GitHub app; returns `nil` if the grant had ended before.
    func revoke(_ app: GitHubSection.App, of account: Account, in exchange: Exchange) throws -> Revocation? {
        let delivery = try exchange.world.update { tables -> [UInt8]? in
            guard let grant = tables.grant(account.id, to: app) else { return nil }
            tables.revoke(grant, because: "the user revoked the app's authorization")
            return tables.random.bytes(16)
        }
        guard let delivery else { return nil }
        guard let details = app.details, let url = details.webhookURL else { return Revocation() }
        let user = UserDocument(account, RESTBase(exchange.address, isEnterprise: false)).simple()
        let payload: JSONValue = ["action": "revoked", "sender": .object(user)]
        return Revocation(
            webhook: OutgoingMessage(
                webhook: "github_app_authorization", payload, to: url, app: details, delivery: delivery))
    }

    // MARK: - POST /_understudy/v1/github/revocations

    /// Revokes grants at a test's request, as the person would in GitHub's settings. For one person and one app, the
    /// response contains the webhook's result. For several grants, the webhooks are sent in the background.
    func revokeByOrder(_ exchange: Exchange, _ order: RevocationOrder) async throws -> Response {
        let noClient: (String) -> String? = { id in
            directory.apps[id] == nil ? "no app \(Diagnosis.quote(id)) is seeded\(directory.hint(forClient: id))" : nil
        }
        let granted = exchange.world.read { tables -> (GitHubSection.App, Account)? in
            guard let account = order.account.flatMap({ tables.account($0) }),
                let app = order.client.flatMap({ directory.apps[$0] }), tables.grant(account.id, to: app) != nil
            else { return nil }
            return (app, account)
        }
        guard let (app, account) = granted, let revocation = try revoke(app, of: account, in: exchange) else {
            return try exchange.revoke(GitHubGrant.self, order, noClient: noClient) { grant in
                let account = exchange.world.read { $0.account(grant.account) }
                guard let app = directory.apps[grant.client], let account,
                    let revocation = try revoke(app, of: account, in: exchange)
                else { return false }
                if let webhook = revocation.webhook { exchange.send(webhook) }
                return true
            }
        }
        guard let webhook = revocation.webhook else {
            return ControlAnswer.ok(["revoked": true, "webhook": .null])
        }
        let delivery = await exchange.post(webhook).json(of: webhook)
        return ControlAnswer.ok(["revoked": true, "webhook": .object(delivery)])
    }
}
