import JSON
import ModelContextProtocol

// These tools sign in and mint tokens without an app.

extension DaemonTools {
    private enum NativeProvider: String, CaseIterable {
        case apple
        case google
        case facebook

        var title: String { rawValue.prefix(1).uppercased() + rawValue.dropFirst() }

        var path: String { "\(rawValue)/authorizations" }

        var call: DeclaredCall { DeclaredCall("POST", path) }
    }

    private struct NativeChoice: SchemaObject {
        let provider: NativeProvider

        init(_ fields: inout Fields) {
            provider = fields(
                "provider", .choice(NativeProvider.self), default: .apple, "Whose system or SDK is asked on the device."
            )
        }
    }

    var nativeSignIn: Tool {
        let calls = NativeProvider.allCases.map { (name: $0.title, fields: $0.call.fields) }
        let schema = Schema.oneOf(NativeProvider.allCases.flatMap(\.call.answers))
        return Tool(
            "sign_in_natively", title: "Sign in as on a device", .adds,
            "What a device delivers when its person signs in: for Apple the credential of ASAuthorizationController (identity "
                + "token, authorization code, user, name and address the first time), for Google and Facebook their SDK's tokens. "
                + "It refuses as the device would (for Apple ASAuthorizationError's codes, such as 1001 for cancel).",
            arguments: .withWorld(NativeChoice.schema.fields + .united(calls)), answers: schema.answered
        ) { arguments, _ throws(ToolFailure) in
            let provider = NativeChoice(reading: arguments).provider
            let (body, world) = arguments.bodyAndWorld
            var members = body.object ?? JSONObject()
            members["provider"] = nil
            let answer = try daemon.ask("POST", provider.path, body: .object(members), about: .world(world))
            // A refusal that a device reports to the app may be what the caller wants to see.
            guard provider.call.statuses.contains(answer.status) else { throw DaemonAccess.failure(answer) }
            return .object(try AnswerSize.fitted(answer.json.object ?? JSONObject(), schema))
        }
    }

    var mintToken: Tool {
        let call = DeclaredCall("POST", "tokens")
        return Tool(
            "mint_token", title: "Mint an ID token", .adds,
            "An ID token without a sign-in, whole or broken in one place (another audience, expired, a wrong signature), to try code "
                + "that verifies tokens.",
            arguments: .withWorld(call.fields), answers: call.answer.answered
        ) { arguments, _ throws(ToolFailure) in try post("tokens", arguments, as: call.answer) }
    }
}
