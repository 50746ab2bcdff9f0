import HTTPServer
import JOSE
import EmulatorCore

// GET /_understudy/v1/apple/credential-state?client=…&user=…: what getCredentialState(forUserID:) would say.
// https://developer.apple.com/documentation/authenticationservices/asauthorizationappleidprovider/credentialstate

enum CredentialState: Int64 {
    case revoked = 0
    case authorized = 1
    case notFound = 2
    case transferred = 3

    var name: String { String(describing: self) }
}

extension AppleProvider {
    func credentialState(_ exchange: Exchange) -> Response {
        let form = exchange.request.queryForm
        guard let clientID = form["client"], let user = form["user"] else {
            return ControlAnswer.error(
                400, "missingParameter", "give client (an App ID) and user (the credential's user)")
        }
        guard let client = directory.clients[clientID] else {
            let message =
                "no App ID or Services ID \(Diagnosis.quote(clientID)) is seeded\(directory.hint(for: clientID))"
            return ControlAnswer.error(404, "noSuchClient", message)
        }
        let state = exchange.world.update { state -> CredentialState in
            for account in state.all(Account.self) {
                if AppleIdentifiers.subject(account: account.id, team: client.team) == user {
                    let key = AppleState.GrantKey(account: account.id, team: client.team, group: client.group)
                    if state[AppleState.self].grantNumber(key) != nil { return .authorized }
                    return state[AppleState.self].ended.contains(key) ? .revoked : .notFound
                }
                if let transfer = client.transfer,
                    AppleIdentifiers.subject(account: account.id, team: transfer.fromTeam) == user
                {
                    return .transferred
                }
            }
            return .notFound
        }
        return ControlAnswer.ok(["state": .string(state.name), "rawValue": .integer(state.rawValue)])
    }
}
