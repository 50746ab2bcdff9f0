import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth

// GET and POST https://graph.facebook.com/oauth/access_token, GET /oauth/access_token_info
// https://developers.facebook.com/docs/facebook-login/guides/advanced/manual-flow#exchangecode
//
// Quirks: the app's ID and secret are parameters, never in an Authorization header; without a grant_type, a code is redeemed; fb_exchange_token brings a token that lasts longer, as all do here. An
// app's own token is APPID|SECRET.

extension FacebookProvider {
    func token(_ exchange: Exchange) -> Response {
        do throws(GraphError) {
            let app = try authenticate(exchange)
            switch parameter("grant_type", exchange) {
            case "client_credentials":
                return FacebookProvider.json([
                    "access_token": .string("\(app.id)|\(app.secret)"), "token_type": "bearer",
                ])
            case "fb_exchange_token": return answer(try exchangeToken(exchange))
            default: return answer(try redeem(exchange, app))
            }
        } catch {
            return error.response
        }
    }

    private func authenticate(_ exchange: Exchange) throws(GraphError) -> RegisteredClient {
        let id = parameter("client_id", exchange) ?? ""
        let note =
            BasicCredentials.read(exchange.request) == nil
            ? "" : "; Authorization: Basic is ignored: send client_id and client_secret as parameters"
        guard let app = apps[id] else {
            throw GraphError(
                message: id.isEmpty
                    ? "Missing client_id parameter."
                    : "Error validating application. Cannot get application info due to a system error.",
                code: 101,
                diagnosis: Diagnosis(
                    received: "client_id \(Diagnosis.quote(id))", "no such app is seeded\(apps.hint(for: id))\(note)"))
        }
        guard constantTimeEquals(Array((parameter("client_secret", exchange) ?? "").utf8), Array(app.secret.utf8))
        else {
            throw GraphError(
                message: "Error validating client secret.", code: 1,
                diagnosis: Diagnosis("client_secret isn't the one that the seed has for \"\(id)\"\(note)"))
        }
        return app
    }

    /// Facebook's order isn't documented.
    private static let redemption = Redemption(checks: [.client, .unused, .unexpired, .redirectURI])

    private func redeem(_ exchange: Exchange, _ app: RegisteredClient) throws(GraphError) -> String {
        let request = Redemption.Request(
            code: parameter("code", exchange) ?? "", client: app.id,
            redirectURI: parameter("redirect_uri", exchange), exchange: exchange.id)
        do {
            return try exchange.world.update { (tables) throws(Redemption.Failure) -> String in
                let redeemed = try FacebookProvider.redemption.redeem(FacebookGrant.self, request, in: &tables)
                return tables.makeAccessToken(redeemed.grant, redeemed.code.details)
            }
        } catch { throw refusal(error) }
    }

    private func refusal(_ failure: Redemption.Failure) -> GraphError {
        let (message, subcode): (String, Int64) =
            switch failure {
            case .unknown, .otherClient, .noAccount, .codeVerifier: ("Invalid verification code format.", 36008)
            case .used: ("This authorization code has been used.", 36009)
            case .expired: ("This authorization code has expired.", 36007)
            case .redirectURIMismatch:
                (
                    "Error validating verification code. Please make sure your redirect_uri is identical to the one you "
                        + "used in the OAuth dialog request", 36008
                )
            }
        return GraphError(message: message, code: 100, subcode: subcode, diagnosis: Diagnosis(failure.reason))
    }

    private func exchangeToken(_ exchange: Exchange) throws(GraphError) -> String {
        let caller = try accessToken(parameter("fb_exchange_token", exchange) ?? "", exchange)
        return exchange.world.update { $0.makeAccessToken(caller.grant, caller.details) }
    }

    private func answer(_ accessToken: String) -> Response {
        FacebookProvider.json([
            "access_token": .string(accessToken), "token_type": "bearer",
            "expires_in": .integer(FacebookToken.lifetime.seconds),
        ])
    }

    // MARK: - /oauth/access_token_info

    func tokenInfo(_ exchange: Exchange) -> Response {
        do throws(GraphError) {
            let caller = try accessToken(callerToken(exchange), exchange)
            return FacebookProvider.json([
                "access_token": .string(caller.token.key), "token_type": "bearer",
                "expires_in": .integer(FacebookToken.lifetime.seconds), "client_id": .string(caller.grant.app),
            ])
        } catch {
            return error.response
        }
    }
}
