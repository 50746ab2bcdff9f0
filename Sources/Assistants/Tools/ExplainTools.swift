import JSON
import ModelContextProtocol

extension DaemonTools {
    private struct Value: SchemaObject {
        init(_ fields: inout Fields) {
            _ = fields("value", .text(.token), "A token, a client secret, a code, a nonce or a callback URL.")
            _ = fields.optional("rawNonce", .text(.any), "The text whose SHA-256 an ID token's nonce should be.")
        }
    }

    var explainValue: Tool {
        Tool(
            "explain_value", title: "What is wrong with a token?", .reads,
            "Says what a value of a sign-in is and what is wrong with it, by this daemon's seed, keys, clock and recording: an ID token "
                + "(also with the app's raw nonce), an access or refresh token, a client secret, an authorization code, a nonce, or "
                + "the whole callback URL with its parameters.",
            arguments: .withWorld(Value.schema)
        ) { arguments, _ throws(ToolFailure) in
            let (body, world) = arguments.bodyAndWorld
            let answer = try daemon.call("POST", "explain", body: body, about: .world(world))
            return .object(AnswerSize.fitted(answer.object ?? JSONObject()))
        }
    }

    private struct ErrorChoice: SchemaObject {
        let error: String
        let provider: String?

        init(_ fields: inout Fields) {
            error = fields(
                "error", .text(.nonEmpty), "The error's name, code or message, such as \"invalid_grant\" or \"1000\".")
            provider = fields.optional("provider", .choice(Manual.providersWithErrors), "Whose error it is.")
        }
    }

    var explainError: Tool {
        Tool(
            "explain_error", title: "What does an error mean?", .reads,
            "Finds an error of a provider in the documentation's tables: when the provider says it, and how to provoke it. For a "
                + "refusal that has happened, list_sign_ins says more.",
            arguments: ErrorChoice.self
        ) { choice, _ in
            .object(Manual.errors(named: choice.error, of: choice.provider))
        }
    }
}
