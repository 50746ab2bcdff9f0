import HTTPServer
import JOSE
import JSON
import EmulatorCore

// GET /_understudy/v1/apple/credential-state?client=…&user=…: the result of getCredentialState(forUserID:).
// https://developer.apple.com/documentation/authenticationservices/asauthorizationappleidprovider/credentialstate

enum CredentialState: Int64, CaseIterable {
    case revoked = 0
    case authorized = 1
    case notFound = 2
    case transferred = 3

    var name: String { String(describing: self) }
}

extension AppleProvider {
    private struct Question: SchemaObject {
        let client: String
        let user: String

        init(_ fields: inout Fields) {
            client = fields("client", .text(.nonEmpty), "The App ID.")
            user = fields("user", .text(.nonEmpty), "The credential's `user`.")
        }
    }

    var credentialStateCall: Endpoint {
        .control(
            "GET", "apple/credential-state", "Tells what getCredentialState(forUserID:) would say on a device.",
            reads: .query(Question.self),
            answers: [
                .json(
                    "The state.",
                    .members([
                        .required("state", .choice(CredentialState.allCases.map(\.name)), "Its name."),
                        .required("rawValue", .integer(0...3), "Its number."),
                    ])), .refusal(404, "noSuchClient", "There is no such App ID."),
            ]
        ) { credentialState($0, $1) }
    }

    private func credentialState(_ exchange: Exchange, _ question: Question) -> Response {
        let (clientID, user) = (question.client, question.user)
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
