import EmulatorCore
import JSON
import ModelContextProtocol
import Understudy

// Sign-ins and tokens without an app.

extension DaemonTools {
    private enum NativeProvider: String, CaseIterable {
        case apple
        case google
        case facebook
    }

    private struct NativeSignIn: SchemaObject {
        let provider: NativeProvider

        init(_ fields: inout Fields) {
            provider = fields(
                "provider", .choice(NativeProvider.self), default: .apple, "Whose system or SDK is asked on the device."
            )
            _ = fields("client", .text(.nonEmpty), "The app's ID: for Apple its bundle ID.")
            _ = fields.optional(
                "account", .text(.nonEmpty), "Who is signed in on the device; by default the first person.")
            _ = fields.optional(
                "nonce", .text(.any),
                "What the app hands over as nonce: for Apple the SHA-256 of its raw nonce, in lower-case hex.")
            _ = fields.optional(
                "scopes", .set(of: .text(.nonEmpty)), "What the app asks for: for Apple \"fullName\" and \"email\".")
            _ = fields.optional("state", .text(.any), "For Apple: what the app puts into the request's state.")
            _ = fields.optional(
                "tracking", .choice(["enabled", "limited"]), "For Facebook: \"limited\" is Limited Login.")
        }
    }

    var nativeSignIn: Tool {
        Tool(
            "sign_in_natively", title: "Sign in as on a device", .adds,
            "What a device delivers to an app when its person signs in: for Apple the credential of ASAuthorizationController (identity "
                + "token, authorization code, user, name and address the first time), for Google and Facebook their SDK's tokens. "
                + "Refusals are answered as the device would (for Apple ASAuthorizationError's codes, such as 1001 for cancel), with "
                + "the reason.",
            arguments: .withWorld(NativeSignIn.schema)
        ) { arguments, _ throws(ToolFailure) in
            var (body, world) = arguments.bodyAndWorld
            let provider = NativeSignIn(reading: body).provider.rawValue
            var members = body.object ?? JSONObject()
            members["provider"] = nil
            body = .object(members)
            let answer = try daemon.ask("POST", "\(provider)/authorizations", body: body, about: .world(world))
            // A refusal that the device tells the app is what was asked for.
            guard answer.isSuccess || answer.json["error"]?["domain"] != nil else {
                throw DaemonAccess.failure(answer)
            }
            return .object(answer.json.object ?? JSONObject())
        }
    }

    private struct TokenOrder: SchemaObject {
        init(_ fields: inout Fields) {
            _ = fields(
                "provider", .choice(Providers.names), "Whose token.")
            _ = fields("client", .text(.nonEmpty), "For which client; at Firebase, for which project.")
            _ = fields.optional(
                "account", .text(.nonEmpty),
                "Who; at Firebase a user's local ID or e-mail address. By default the first.")
            _ = fields.optional("nonce", .text(.any), "The claim nonce.")
            _ = fields.optional("scopes", .set(of: .text(.nonEmpty)), "What was granted.")
            _ = Tampering(&fields)
        }
    }

    var mintToken: Tool {
        Tool(
            "mint_token", title: "Mint an ID token", .adds,
            "An ID token without a sign-in, whole or broken in one place (another audience, expired, a wrong signature), to try code "
                + "that verifies tokens.",
            arguments: .withWorld(TokenOrder.schema)
        ) { arguments, _ throws(ToolFailure) in try post("tokens", arguments) }
    }
}
