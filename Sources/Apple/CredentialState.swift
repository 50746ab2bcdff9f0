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
        let state = credentialState(of: user, client, exchange.world)
        return ControlAnswer.ok(["state": .string(state.name), "rawValue": .integer(state.rawValue)])
    }

    private func credentialState(
        of user: String, _ client: AppleDirectory.Client, _ world: World
    ) -> CredentialState {
        let known = world.read { tables -> CredentialState? in
            let grants = tables.rows(AppleGrant.bySubject, user)
            if grants.contains(where: { $0.team == client.team && $0.group == client.group }) { return .authorized }
            let group = "\(client.team) \(client.group)"
            return tables.rows(EndedGrant.bySubject, user).contains { $0.key.hasSuffix(" \(group)") } ? .revoked : nil
        }
        if let known { return known }
        guard let transfer = client.transfer else { return .notFound }
        return world.account(user, as: .subject(team: transfer.fromTeam)) == nil ? .notFound : .transferred
    }
}
