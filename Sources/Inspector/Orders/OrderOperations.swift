import EmulatorCore
import HTTPServer

extension Inspector {
    /// The pages of orders: `/_understudy/orders` and below.
    var orderEndpoints: [Endpoint] {
        [
            page("GET", "orders") { try waitingOrders($0) },
            form("orders/withdraw") { try await withdraw($0, $1) },
            form("orders/withdraw-all") { exchange, _ in try await withdrawAll(exchange) },
            page("GET", "orders/people") { foundPeople($0) },
            page("GET", "orders/fault") { faultPage($0, $0.request.queryForm) },
            form("orders/fault") { try await orderFault($0, $1) },
            page("GET", "orders/sign-in") { signInPage($0, $0.request.queryForm) },
            form("orders/sign-in") { try await orderSignIn($0, $1) },
            page("GET", "orders/tokens") { tokenPage($0, $0.request.queryForm) },
            form("orders/tokens") { await makeToken($0, $1) },
            page("GET", "orders/scenarios") { scenarioList($0) },
            page("GET", "orders/scenarios/:name") { try scenarioPage($0) },
            form("orders/scenarios/:name") { try await playScenario($0, $1) },
            form("orders/scenarios/:name/end") { exchange, _ in try await endScenario(exchange) },
        ]
    }

    func orderTabs(_ exchange: Exchange, _ current: String) -> HTML {
        tabs(
            exchange, "Orders",
            [
                ("orders", "Waiting"), ("orders/sign-in", "Next sign-in"), ("orders/fault", "Something goes wrong"),
                ("orders/scenarios", "Scenarios"), ("orders/tokens", "Mint a token"),
            ], current: current)
    }
}
