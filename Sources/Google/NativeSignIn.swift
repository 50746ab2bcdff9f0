import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth

// POST /_understudy/v1/google/authorizations: what the Google SDK on a device would deliver, an ID token and an access token
// https://developers.google.com/identity/sign-in/ios/sign-in

extension GoogleProvider {
    var nativeCall: Operation {
        .control(
            "POST", "google/authorizations", "Signs a person in on a device: what the Google SDK would deliver.",
            reads: .body(NativeRequest.self),
            answers: [
                .json(
                    "What the app gets.",
                    .members(
                        "GoogleUser",
                        [
                            .required("userID", .string, "The person's `sub`."),
                            .required("idToken", .string, "The ID token."),
                            .required("accessToken", .string, "The access token."),
                        ]))
            ] + CallAnswer.nativeRefusals, keys: [.google],
            .native(errors: ["canceled"], takesOthers: true, mints: .google)
        ) { authorizeNatively($0, $1) }
    }

    private struct NativeRequest: SchemaObject {
        static let schemaName: String? = "GoogleAuthorization"

        let client: String
        let account: String?
        let nonce: String?
        let scopes: [String]

        init(_ fields: inout Fields) {
            client = fields("client", .text(.nonEmpty), "The app's client ID.")
            account = fields.nullable("account", .text(.nonEmpty), "Who signs in on the device.")
            nonce = fields.nullable("nonce", .text(.nonEmpty), "What the app gave the Google SDK as nonce.")
            scopes = fields(
                "scopes", .set(of: .text(.nonEmpty)), default: ["openid", "email", "profile"],
                "What the app asks for.")
        }
    }

    private func authorizeNatively(_ exchange: Exchange, _ body: NativeRequest) -> Response {
        do throws(ControlRefusal) {
            let client = try clients.client(named: body.client)
            let account = try exchange.nativeAccount(provider: name, client: client, account: body.account)
            let scopes = GoogleScopes(body.scopes)
            let details = GoogleGrant.TokenDetails(scopes: scopes, nonce: body.nonce)
            let (accessToken, now) = exchange.world.update { tables in
                let grant = tables.consent(account.id, to: client.id, scopes: scopes)
                return (tables.makeAccessToken(grant, details), tables.now)
            }
            let token = IDToken(
                issuer: issuer(exchange), client: client.id, account: account, details: details, issuedAt: now,
                accessToken: accessToken)
            return ControlAnswer.ok([
                "userID": .string(account.google.sub), "idToken": .string(try mintNatively(token, exchange)),
                "accessToken": .string(accessToken),
            ])
        } catch {
            return error.response
        }
    }

    private func mintNatively(_ token: IDToken, _ exchange: Exchange) throws(ControlRefusal) -> String {
        do { return try token.minted(exchange) } catch {
            throw .signing(error)
        }
    }
}
