import HTTPServer

/// How one host that this daemon plays asks another, as servers ask each other over the network: the same requests, the
/// same refusals, but in process.
package protocol Network: AnyObject, Sendable {
    func plays(_ host: String) -> Bool
    /// `parent` is the exchange on whose behalf it is asked.
    func send(_ request: Request, from parent: String) -> Reply
    func log(_ message: String, detail: String, for exchange: Exchange)
}

extension Network {
    func ask(_ request: Request, from parent: String) async -> Response {
        switch send(request, from: parent) {
        case .now(let response): return response
        case .later(let start):
            return await withCheckedContinuation { continuation in
                start(Completion { continuation.resume(returning: $0) })
            }
        }
    }
}

extension Exchange {
    /// Asks `host`, in the same world. `target` is the path with its query.
    package func fetch(
        _ method: String, _ host: String, _ target: String, headers: [(name: String, value: String)] = [],
        body: [UInt8] = []
    ) async -> Response {
        let world = address.world == "default" ? "" : "/~\(address.world)"
        let all = [(name: "Host", value: host), (name: "User-Agent", value: "Understudy")] + headers
        return await network.ask(Request(method: method, target: world + target, headers: all, body: body), from: id)
    }

    /// Writes something that happened to the log. `detail`, which may hold secrets, only at the level `debug`.
    package func log(_ message: String, detail: String) { network.log(message, detail: detail, for: self) }

    /// Posts a form.
    package func fetch(
        form: [(String, String?)], _ host: String, _ target: String, headers: [(name: String, value: String)] = []
    ) async -> Response {
        let fields = form.compactMap { field in field.1.map { Form.Field(name: field.0, value: $0) } }
        let type = (name: "Content-Type", value: "application/x-www-form-urlencoded")
        return await fetch(
            "POST", host, target, headers: [type] + headers, body: Array(Form(fields: fields).encoded.utf8))
    }

    /// Where the client reaches `url`: at this daemon, in the form in which the request came, if the daemon plays the
    /// host; else at `url` itself.
    package func reachable(_ url: String) -> String {
        guard address.form != .real, url.hasPrefix("https://") else { return url }
        let rest = url.dropFirst("https://".count)
        let host = rest.prefix { !"/?#:".contains($0) }
        guard network.plays(host.lowercased()), !rest.dropFirst(host.count).hasPrefix(":") else { return url }
        return address.base(of: host.lowercased()) + rest.dropFirst(host.count)
    }
}
