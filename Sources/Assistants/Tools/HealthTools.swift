import JSON
import ModelContextProtocol
import Text
import Understudy

extension DaemonTools {
    var health: Tool {
        let shown = DeclaredCall("GET", "health").answer.fields("status", "version", "worlds", "store", "ports")
        return Tool(
            "check_health", title: "Is the daemon there?", .reads,
            "Tells whether an Understudy daemon answers, its version, its address and where people can watch it.",
            arguments: WorldChoice.self,
            answers: .answer(
                [
                    .required("url", .string, "The world's address."),
                    .required("inspector", .string, "The inspector's address."),
                ], shown)
        ) { choice, _ throws(ToolFailure) in
            let answer = try daemon.ask("GET", "health", about: .world(choice.world))
            guard answer.json["version"] != nil else { throw DaemonAccess.failure(answer) }
            let url = daemon.supply.client(.world(choice.world)).base
            var object = JSONObject([("url", .string(url)), ("inspector", .string("\(url)/_understudy/"))])
            for field in shown { object[field.name] = answer.json[field.name] }
            return .object(object)
        }
    }

    var environment: Tool {
        Tool(
            "app_environment", title: "Environment for an app", .adds,
            "The environment variables that lead an app or a test run to this daemon: each provider's address, Firebase's emulator "
                + "host, and where mail goes. If you name a world, it gets its own port.",
            arguments: WorldChoice.self,
            answers: .answer([
                .required("variables", .map(of: .string), "Values by variable name."),
                .required("example", .string, "The URL of a provider's endpoint."),
            ])
        ) { choice, _ throws(ToolFailure) in
            let ports = try daemon.call("GET", "health", about: .world(choice.world))["ports"]
            let url = try address(of: choice.world)
            var variables = JSONObject([
                ("UNDERSTUDY_URL", .string(url)), ("UNDERSTUDY_CONTROL_URL", .string("\(url)/_understudy/v1")),
            ])
            for variable in Providers.variables(daemon: url) { variables[variable.name] = .string(variable.value) }
            if let port = ports?["smtp"]?.integer {
                variables["UNDERSTUDY_SMTP_HOST"] = .string(DaemonTools.host(of: url))
                variables["UNDERSTUDY_SMTP_PORT"] = .string(String(port))
                // Mail to the daemon's port goes to the test world that the SMTP user names.
                variables["UNDERSTUDY_SMTP_USER"] = choice.world.map { .string($0) }
            }
            let example = "https://appleid.apple.com/auth/token is at \(url)/appleid.apple.com/auth/token"
            return .object(JSONObject([("variables", .object(variables)), ("example", .string(example))]))
        }
    }

    /// Returns the host of a daemon's address, without its port.
    private static func host(of url: String) -> String {
        let authority = url.split(separator: "/").dropFirst().first ?? ""
        guard let colon = authority.lastIndex(ofASCII: ":"), !authority.hasSuffix("]") else { return String(authority) }
        return String(authority[..<colon])
    }

    /// Returns the address of a test world. A world that has a name gets a port of its own and keeps it, because
    /// Firebase's SDKs take only a host and a port. If no world is named, returns the daemon's address.
    private func address(of world: String?) throws(ToolFailure) -> String {
        let client = daemon.supply.client(.world(world))
        guard let name = client.world else { return client.base }
        let answer = try daemon.call(
            "POST", "worlds", body: ["name": .string(name), "listen": 0], about: .world(world))
        return answer["url"]?.string ?? client.base
    }
}
