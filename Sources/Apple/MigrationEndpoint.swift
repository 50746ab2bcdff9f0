import HTTPServer
import JSON
import OAuth
import EmulatorCore
import Time

// POST /auth/usermigrationinfo
// https://developer.apple.com/documentation/signinwithapple/transferring-your-apps-and-users-to-another-team
// https://developer.apple.com/documentation/signinwithapple/bringing-new-apps-and-users-into-your-team
//
// The sending team sends `sub` and `target` and gets `transfer_sub`; the recipient sends `transfer_sub` and gets its
// own `sub` and relay address. Quirk: every error but the client's authentication is `invalid_request`.

extension AppleProvider {
    func migrationInfo(_ exchange: Exchange) -> Response {
        let form = exchange.request.bodyForm
        do throws(AppleError) {
            let client = try authenticate(exchange, form)
            try checkMigrationToken(exchange, client)
            if let transferSubject = form["transfer_sub"] {
                return try receive(exchange, transferSubject, client)
            }
            return try sendAway(exchange, form, client)
        } catch {
            return error.jsonResponse
        }
    }

    private func refuse(_ advice: String) -> AppleError { AppleError(.invalidRequest, nil, Diagnosis(advice)) }

    private func checkMigrationToken(_ exchange: Exchange, _ client: AppleDirectory.Client) throws(AppleError) {
        let header = exchange.request.header("Authorization") ?? ""
        guard header.lowercased().hasPrefix("bearer ") else {
            throw refuse(
                "the Authorization header lacks a bearer token: get one with grant_type=client_credentials and scope=user.migration"
            )
        }
        let text = String(header.dropFirst(7))
        let (token, now) = exchange.world.read { ($0.find(MigrationToken.self, text), $0.now) }
        guard let token, token.expires > now, token.team == client.team else {
            throw refuse("the bearer token isn't a current user.migration token of team \"\(client.team)\"")
        }
    }

    private func sendAway(_ exchange: Exchange, _ form: Form, _ client: AppleDirectory.Client) throws(AppleError)
        -> Response
    {
        guard let subject = form["sub"], let target = form["target"] else {
            throw refuse("send sub and target (the recipient's Team ID), or transfer_sub")
        }
        guard directory.teams[target] != nil, target != client.team else {
            throw refuse("target \(Diagnosis.quote(target)) isn't another seeded team")
        }
        let account = exchange.world.read { tables in
            tables.rows(AppleGrant.bySubject, subject).first { $0.team == client.team && $0.group == client.group }
        }?.account
        guard let account else {
            throw refuse(
                "sub \(Diagnosis.quote(subject)) has no current consent for this client: nobody by it has signed in, or it was revoked"
            )
        }
        let transfer = AppleIdentifiers.transferSubject(account: account, from: client.team, to: target)
        return AppleProvider.json(["transfer_sub": .string(transfer)])
    }

    private func receive(_ exchange: Exchange, _ subject: String, _ client: AppleDirectory.Client) throws(AppleError)
        -> Response
    {
        guard let transfer = client.transfer else {
            throw refuse("client \"\(client.id)\" came from no other team: set \"transfer\" at its app in the seed")
        }
        let account = exchange.world.account(subject, as: .transferSubject(from: transfer.fromTeam, to: client.team))
        let (grants, now) = exchange.world.read { tables in
            (account.map { tables.grants(AppleGrant.self, of: $0.id) } ?? [], tables.now)
        }
        let hidesEmail = grants.contains { $0.team == transfer.fromTeam && !$0.sharesEmail }
        guard now < transfer.at + AppleSection.Transfer.period else {
            throw refuse("the sixty days after the transfer are over")
        }
        guard let account else { throw refuse("transfer_sub \(Diagnosis.quote(subject)) isn't for this team") }
        var answer = JSONObject([("sub", .string(AppleIdentifiers.subject(account: account.id, team: client.team)))])
        if hidesEmail {
            answer["email"] = .string(AppleIdentifiers.relayAddress(account: account.id, team: client.team))
            answer["is_private_email"] = settings.boolean(true)
        }
        return AppleProvider.json(.object(answer))
    }
}
