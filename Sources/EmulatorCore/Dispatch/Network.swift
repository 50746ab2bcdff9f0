import HTTPServer

/// A network within the process, over which the daemon sends requests to itself: from one simulated provider to
/// another, and to make the calls of a scenario (a prepared situation).
package protocol Network: AnyObject, Sendable {
    func plays(_ host: String, in world: World) -> Bool
    /// Sends a request from the daemon to itself. `parent` is the ID of the request that causes this one, or
    /// `Scenario.parent` for a scenario's call.
    func send(_ request: Request, from parent: String) -> Reply
    /// Returns whether `world` is still the test world of its name. A deleted world isn't.
    func holds(_ world: World) -> Bool
    func log(_ message: String, detail: String, for exchange: Exchange)
    /// Returns an ID for the recording of a request that the daemon itself sends, such as a message to a client's
    /// server.
    func makeID() -> String
    /// Returns the name of the test world, other than `world`, that has issued the code or token `text`; `nil` when no
    /// such test world is found.
    func world(thatIssued text: String, besides world: World) -> String?
    /// The token that clients of the control API must send; `nil` when they need none.
    var controlToken: ControlToken? { get }
}

extension Network {
    func ask(_ request: Request, from parent: String) async -> Response {
        await send(request, from: parent).response
    }
}

extension Exchange {
    /// Whether the client has sent the daemon's control token; `false` if the daemon has none.
    package var showsControlToken: Bool { network.controlToken?.isShown(by: request) ?? false }

    /// Whether the client may choose an address to which the daemon sends requests. If the daemon has a control token,
    /// the client must have sent it. Without a control token, the client must run on the daemon's machine, and must not
    /// be a web page from another machine. The daemon's own requests may if the client that caused them may.
    package var mayChooseAddresses: Bool {
        if isInternal { return request.isFromLoopback }
        return network.controlToken == nil ? request.isFromLoopback && !isFromForeignPage : showsControlToken
    }

    /// Whether a web page from another machine sent the request. The header `Origin` names the page's server. Without
    /// `Origin`, `Referer` does. Without both, `Sec-Fetch-Site: cross-site` shows such a page. A foreign name in `Host`
    /// also shows such a page: by DNS rebinding, the page's own host name points to this daemon.
    package var isFromForeignPage: Bool {
        if address.form != .real, !Address.isLoopbackName(Address.hostName(of: address.authority)) { return true }
        if let origin = request.header("Origin") { return !Address.isOnThisMachine(origin) }
        if let page = request.header("Referer") { return !Address.isOnThisMachine(page) }
        return request.header("Sec-Fetch-Site")?.lowercased() == "cross-site"
    }

    /// Sends a request to a provider's `host`, in the same test world as this request. `target` is the path with its
    /// query.
    package func fetch(
        _ method: String, _ host: String, _ target: String, headers: [(name: String, value: String)] = [],
        body: [UInt8] = []
    ) async -> Response {
        let all = [(name: "Host", value: host), (name: "User-Agent", value: "Understudy")] + headers
        let request = Request(
            method: method, target: target, headers: all, body: body, label: world.name,
            isFromLoopback: mayChooseAddresses)
        return await network.ask(request, from: id)
    }

    /// Logs an event. `detail`, which may hold secrets, is logged only at the level `debug`.
    package func log(_ message: String, detail: String) { network.log(message, detail: detail, for: self) }

    /// Posts a form to a provider's `host`, in the same test world as this request. `target` is the path with its
    /// query.
    package func fetch(
        form: [(String, String?)], _ host: String, _ target: String, headers: [(name: String, value: String)] = []
    ) async -> Response {
        let fields = form.compactMap { field in field.1.map { Form.Field(name: field.0, value: $0) } }
        let type = (name: "Content-Type", value: "application/x-www-form-urlencoded")
        return await fetch(
            "POST", host, target, headers: [type] + headers, body: Array(Form(fields: fields).encoded.utf8))
    }

    /// Returns the URL at which this request's client reaches `url`. If `url` is an `https` URL without a port, the
    /// daemon simulates its host, and the client doesn't use the providers' real host names, this is a URL at the
    /// daemon. Otherwise, it is `url` itself.
    package func reachable(_ url: String) -> String {
        guard address.form != .real, url.hasPrefix("https://") else { return url }
        let rest = url.dropFirst("https://".count)
        let host = Substring(rest.utf8.prefix { !"/?#:".utf8.contains($0) })
        guard network.plays(host.lowercased(), in: world), !rest.dropFirst(host.count).hasPrefix(":") else {
            return url
        }
        return address.base(of: host.lowercased()) + rest.dropFirst(host.count)
    }
}
