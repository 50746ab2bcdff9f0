import JOSE
import HTTPServer
import JSON
import OAuth
import EmulatorCore
import Time

// https://graph.facebook.com/oauth/access_token and /debug_token
// https://developers.facebook.com/docs/facebook-login/guides/access-tokens/debugging
// https://developers.facebook.com/docs/graph-api/guides/error-handling
//
// Quirks: errors are status 400 with an object. An app token is APPID|SECRET.

struct GraphError: Error, Sendable {
    let message: String
    let code: Int64
    var subcode: Int64?
    let diagnosis: Diagnosis

    /// What the Graph API can be ordered to answer: codes, or codes and subcodes, as
    /// <https://developers.facebook.com/docs/graph-api/guides/error-handling> lists them. Messages aren't documented there;
    /// an order's `description` replaces them.
    private static let known: [(name: String, code: Int64, subcode: Int64?, message: String)] = [
        ("1", 1, nil, "An unknown error occurred"), ("2", 2, nil, "Service temporarily unavailable"),
        ("4", 4, nil, "(#4) Application request limit reached"), ("10", 10, nil, "(#10) Permission denied"),
        ("17", 17, nil, "(#17) User request limit reached"), ("100", 100, nil, "Invalid parameter"),
        ("100/36007", 100, 36007, "This authorization code has expired."),
        ("100/36009", 100, 36009, "This authorization code has been used."),
        ("190", 190, nil, "Invalid OAuth access token."),
        ("190/458", 190, 458, "Error validating access token: The user has not authorized the application."),
        ("190/459", 190, 459, "Error validating access token: The user is checkpointed."),
        (
            "190/460", 190, 460,
            "Error validating access token: The session was invalidated because the password changed."
        ),
        ("190/463", 190, 463, "Error validating access token: Session has expired."),
        ("190/464", 190, 464, "Error validating access token: The user is not confirmed."),
        ("190/467", 190, 467, "Error validating access token: The session is invalid because the user logged out."),
        ("368", 368, nil, "The action attempted has been deemed abusive or is otherwise disallowed"),
    ]

    static let ordered = OperationTraits.Errors(known.map(\.name)) { order, _ in
        let error = known.first { $0.name == order.name } ?? known[0]
        return GraphError(
            message: order.description ?? error.message, code: error.code, subcode: error.subcode,
            diagnosis: order.diagnosis
        ).response
    }

    var object: JSONObject {
        var error = JSONObject([
            ("message", .string(Place.shortened(message, to: 2_000))), ("type", "OAuthException"),
            ("code", .integer(code)),
        ])
        error["error_subcode"] = subcode.map { .integer($0) }
        error["fbtrace_id"] = "AUnderstudyTraceUndrstd"
        return error
    }

    var response: Response {
        FacebookProvider.json(["error": .object(object)], status: 400).diagnosed(diagnosis)
    }
}

extension FacebookProvider {
    static let tokenLifetime = TimeSpan.seconds(5_183_944)
    /// <https://developers.facebook.com/docs/facebook-login/auth-vs-data>
    static let dataAccessPeriod = TimeSpan.days(90)

    func parameter(_ name: String, _ exchange: Exchange) -> String? {
        exchange.request.queryForm[name] ?? exchange.request.bodyForm[name]
    }

    // MARK: - /oauth/access_token

    func token(_ exchange: Exchange) -> Response {
        do throws(GraphError) {
            let app = try app(exchange)
            if parameter("grant_type", exchange) == "client_credentials" {
                return FacebookProvider.json([
                    "access_token": .string("\(app.appID)|\(app.appSecret)"), "token_type": "bearer",
                ])
            }
            if parameter("grant_type", exchange) == "fb_exchange_token" {
                let grant = try grant(of: parameter("fb_exchange_token", exchange) ?? "", exchange)
                return answer(exchange, grant)
            }
            return answer(exchange, try redeem(exchange, app))
        } catch {
            return error.response
        }
    }

    private func app(_ exchange: Exchange) throws(GraphError) -> FacebookSection.App {
        let id = parameter("client_id", exchange) ?? ""
        guard let app = apps[id] else {
            throw GraphError(
                message: id.isEmpty
                    ? "Missing client_id parameter."
                    : "Error validating application. Cannot get application info due to a system error.",
                code: 101,
                diagnosis: Diagnosis(
                    received: "client_id \(Diagnosis.quote(id))", "no such app is seeded\(hint(for: id))"))
        }
        guard constantTimeEquals(Array((parameter("client_secret", exchange) ?? "").utf8), Array(app.appSecret.utf8))
        else {
            throw GraphError(
                message: "Error validating client secret.", code: 1,
                diagnosis: Diagnosis("client_secret isn't the one that the seed has for \"\(id)\""))
        }
        return app
    }

    private func redeem(_ exchange: Exchange, _ app: FacebookSection.App) throws(GraphError) -> FacebookState.Grant {
        let text = parameter("code", exchange) ?? ""
        let redirectURI = parameter("redirect_uri", exchange)
        let result = exchange.world.update { state -> Result<FacebookState.Grant, GraphError> in
            let now = state.clock.now
            func refuse(_ message: String, _ subcode: Int64?, _ reason: String) -> Result<
                FacebookState.Grant, GraphError
            > {
                .failure(GraphError(message: message, code: 100, subcode: subcode, diagnosis: Diagnosis(reason)))
            }
            guard let entry = state[FacebookState.self].codes[text], entry.value.grant.app == app.appID else {
                return refuse(
                    "Invalid verification code format.", 36008, "this world has given no such code to this app")
            }
            if let request = entry.value.usedBy {
                return refuse(
                    "This authorization code has been used.", 36009,
                    "a code works once, and request \(request) redeemed this one")
            }
            guard entry.expires > now else {
                return refuse("This authorization code has expired.", 36007, "the code expired: advance the clock less")
            }
            guard redirectURI == entry.value.redirectURI else {
                return refuse(
                    "Error validating verification code. Please make sure your redirect_uri is identical to the one you "
                        + "used in the OAuth dialog request", 36008,
                    "redirect_uri must be \(Diagnosis.quote(entry.value.redirectURI))")
            }
            state[FacebookState.self].codes[text]?.value.usedBy = exchange.id
            return .success(entry.value.grant)
        }
        return try result.get()
    }

    private func answer(_ exchange: Exchange, _ grant: FacebookState.Grant) -> Response {
        let token = exchange.world.update { FacebookProvider.issue(&$0, grant) }
        return FacebookProvider.json([
            "access_token": .string(token), "token_type": "bearer",
            "expires_in": .integer(FacebookProvider.tokenLifetime.seconds),
        ])
    }

    static func issue(_ state: inout Transaction, _ grant: FacebookState.Grant) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
        let text = "EAA" + state.random.text(180, from: alphabet)
        let now = state.clock.now
        state[FacebookState.self].tokens.insert(grant, as: text, expires: now + tokenLifetime, now: now)
        return text
    }

    // MARK: - Tokens

    func grant(of token: String, _ exchange: Exchange) throws(GraphError) -> FacebookState.Grant {
        let (entry, now) = exchange.world.update {
            ($0[FacebookState.self].tokens[token], $0.clock.now)
        }
        guard let entry else {
            throw GraphError(
                message: token.isEmpty
                    ? "An active access token must be used to query information about the current user."
                    : "Invalid OAuth access token - Cannot parse access token", code: token.isEmpty ? 2500 : 190,
                diagnosis: Diagnosis("the access token is missing, unknown or revoked"))
        }
        guard entry.expires > now else {
            throw GraphError(
                message: "Error validating access token: Session has expired.", code: 190, subcode: 463,
                diagnosis: Diagnosis("the access token expired \((now - entry.expires).seconds) seconds ago"))
        }
        return entry.value
    }

    func callerToken(_ exchange: Exchange) -> String {
        if let token = parameter("access_token", exchange) { return token }
        let words = (exchange.request.header("Authorization") ?? "").split(separator: " ")
        return words.count == 2 && ["bearer", "oauth"].contains(words[0].lowercased()) ? String(words[1]) : ""
    }

    func debugToken(_ exchange: Exchange) -> Response {
        let caller = callerToken(exchange).split(separator: "|", maxSplits: 1).map(String.init)
        guard caller.count == 2, let app = apps[caller[0]], app.appSecret == caller[1] else {
            return GraphError(
                message: "Invalid OAuth access token signature.", code: 190,
                diagnosis: Diagnosis("debug_token takes an app's token, APPID|SECRET, as access_token")
            ).response
        }
        let token = parameter("input_token", exchange) ?? ""
        let entry = exchange.world.update { $0[FacebookState.self].tokens[token] }
        do throws(GraphError) {
            let grant = try grant(of: token, exchange)
            guard grant.app == app.appID else {
                throw GraphError(
                    message: "(#100) The App_id in the input_token did not match the Viewing App", code: 100,
                    diagnosis: Diagnosis("the token was given to the app \"\(grant.app)\""))
            }
            let id = exchange.world.update { $0.account(grant.account)?.facebook.id } ?? ""
            let expires = entry?.expires ?? .first
            return FacebookProvider.json([
                "data": [
                    "app_id": .string(app.appID), "type": "USER", "application": .string(app.name),
                    "data_access_expires_at": .numericDate(grant.issuedAt + FacebookProvider.dataAccessPeriod),
                    "expires_at": .numericDate(expires),
                    "is_valid": true, "issued_at": .numericDate(grant.issuedAt),
                    "scopes": .array(grant.permissions.map { .string($0) }), "user_id": .string(id),
                ]
            ])
        } catch {
            // What is wrong with the token that was asked about is an answer, not a failure.
            guard error.code == 190 else { return error.response }
            let told: JSONValue = [
                "data": [
                    "app_id": .string(app.appID), "application": .string(app.name),
                    "error": ["code": .integer(error.code), "message": .string(error.message)], "is_valid": false,
                    "scopes": [],
                ]
            ]
            return FacebookProvider.json(told).diagnosed(error.diagnosis)
        }
    }

    func tokenInfo(_ exchange: Exchange) -> Response {
        do throws(GraphError) {
            let grant = try grant(of: callerToken(exchange), exchange)
            return FacebookProvider.json([
                "access_token": .string(callerToken(exchange)), "token_type": "bearer",
                "expires_in": .integer(FacebookProvider.tokenLifetime.seconds), "client_id": .string(grant.app),
            ])
        } catch {
            return error.response
        }
    }
}
