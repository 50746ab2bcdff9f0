import JSON
import ModelContextProtocol

extension DaemonTools {
    var explainValue: Tool {
        let call = DeclaredCall("POST", "explain")
        return Tool(
            "explain_value", title: "What is wrong with a token?", .reads,
            "Says what a value of a sign-in is and checks it against this daemon's seed, keys, clock and recording: an ID token "
                + "(also with the app's raw nonce), an access or refresh token, a client secret, an authorization code, a nonce, or "
                + "the whole callback URL with its parameters.",
            arguments: .withWorld(call.fields), answers: call.answer.answered
        ) { arguments, _ throws(ToolFailure) in try post("explain", arguments, as: call.answer) }
    }

    private struct ErrorChoice: SchemaObject {
        let error: String
        let provider: String?

        init(_ fields: inout Fields) {
            error = fields(
                "error", .text(.nonEmpty), "The error's name, code or message, such as \"invalid_grant\" or \"1000\".")
            provider = fields.optional("provider", .choice(Manual.providersWithErrors), "The provider.")
        }
    }

    var explainError: Tool {
        Tool(
            "explain_error", title: "What does an error mean?", .reads,
            "Finds an error of a provider in the documentation's tables: when the provider says it, and how to provoke it. For a "
                + "refusal that has happened, list_sign_ins says more.",
            arguments: ErrorChoice.self,
            answers: .answer([
                .required("found", .count, "How many errors were found."),
                .required(
                    "errors", .sequence(of: .map(of: .string)),
                    "The rows of the documentation's tables, by the tables' headings."),
                .optional("advice", .string, "What to do when none is found."),
            ])
        ) { choice, _ in
            .object(Manual.errors(named: choice.error, of: choice.provider))
        }
    }
}
