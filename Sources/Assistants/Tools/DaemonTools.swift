import JSON
import ModelContextProtocol
import Understudy

/// The tools by which coding assistants use the control API and read the documentation.
package struct DaemonTools: Sendable {
    let daemon: DaemonAccess

    package init(_ supply: DaemonSupply) { daemon = DaemonAccess(supply: supply) }

    /// All tools for coding assistants, the most useful first. A tool's description doesn't contain the schema of the
    /// tool's answers, because the user of a language model pays for each word of the descriptions.
    package var all: [Tool] {
        [
            health, environment, signIns, request, explainValue, explainError, orderOutcome, orderFault, endpoints,
            orders, removeOrders, scenarios, playScenario, clock, nativeSignIn, mintToken, accounts, saveAccount,
            mail, seed, changeSeed, reset, searchDocumentation, readDocumentation, controlCall,
        ].map(\.withoutAnswerSchema)
    }

    /// The pages of the documentation, which a coding assistant can read as resources.
    package static var resources: [Resource] { Manual.resources }

    package static let identity = ServerIdentity(
        name: "understudy", title: "Understudy", version: Version.current,
        about:
            "A stand-in for Sign in with Apple, GitHub, Google, Facebook, Microsoft, Firebase Authentication and OpenID Connect, for tests.",
        instructions: """
            Understudy plays identity providers for tests: an app's sign-in code runs against it unchanged, without accounts or a \
            network. Begin with app_environment to point an app at it. When a sign-in fails, list_sign_ins with refused: true says \
            why it was refused, and explain_value what is wrong with a token. What should happen next is ordered beforehand with \
            order_outcome, order_fault and clock; remove_orders or reset_world afterwards. Tests that run at the same time each take a \
            world of their own: any name as world. What no tool does, call_control_api may. Nothing here is real: people, keys and secrets are for tests only.
            """)
}
