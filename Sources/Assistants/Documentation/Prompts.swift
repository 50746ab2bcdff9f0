import ModelContextProtocol

extension DaemonTools {
    /// Ready-made requests to a coding assistant, from which the user can choose.
    package static let prompts = [
        Prompt(
            "why_refused", title: "Why was my sign-in refused?",
            "Finds the last sign-in that was refused, and what to change in the app.",
            arguments: [.init("client", "The app's client ID; without it, any app's.")]
        ) { given in
            let app = given["client"].map { " of the client \($0)" } ?? ""
            return """
                Find out why the last sign-in\(app) was refused. Call list_sign_ins with refused: true: each step's diagnosis says \
                what was received, what was expected and what to do. Where that isn't enough, show_request has the whole request, \
                explain_value says what is wrong with a token, client secret, nonce, code or callback URL, and read_seed what is \
                registered for the client. A step with a fault was ordered to fail: list_orders. Then find the line of this project's \
                code or settings that causes it. Answer with what was sent, what the provider expects, and that line's change. \
                Change nothing in the daemon.
                """
        },
        Prompt(
            "write_test", title: "Write a test for a sign-in",
            "Writes a test of the app's sign-in that runs against Understudy.",
            arguments: [
                .init("what", "What the test is about, such as \"the user cancels\".", isRequired: true),
                .init("language", "The test's language or framework; without it, the project's."),
            ]
        ) { given in
            let language = given["language"].map { " with \($0)" } ?? ""
            return """
                Write a test\(language) for this: \(given["what"] ?? ""). See how this project's tests look, and read the page kits of \
                read_documentation, then the page of the language (python, javascript or swift); other languages use the control API's \
                calls with HTTP. The test takes a world of its own, orders what should happen before the app signs in (an outcome, a \
                fault, a scenario or the clock: list_endpoints and list_scenarios say what there is), lets the app sign in with its \
                own code, and checks what its user sees. Try the order first with order_outcome or order_fault and remove_orders. Run \
                the test with "understudy exec -- COMMAND"; if it fails, list_sign_ins says why.
                """
        },
    ]
}
