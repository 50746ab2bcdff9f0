import Platform
import HTTPServer

/// A client's connection to the HTTP proxy, from its first request to its end.
struct Tunnel {
    /// The most bytes that the header of a request to the proxy may have.
    private static let headerLimit = 32 << 10
    private let client: Int32
    private let state: ProxyState

    init(_ client: Int32, _ state: ProxyState) {
        self.client = client
        self.state = state
    }

    func run() {
        let read = readHead()
        state.removeAwaitingRequest(client)
        guard let head = read else { return }
        do throws(Refusal) {
            let request = try ProxyRequest(head)
            let upstream = try connect(for: request)
            defer { close(upstream) }
            Pipe.limitWrites(of: [client, upstream], seconds: state.options.idleSeconds)
            if request.isTunnel {
                let established = Array("HTTP/1.1 200 Connection Established\r\n\r\n".utf8)
                guard Pipe.write(established[...], to: client) else { return }
                guard Pipe.write(head[request.end...], to: upstream) else { return }
            } else {
                guard Pipe.write(request.once(head)[...], to: upstream) else { return }
            }
            Pipe.join(client, upstream, idleSeconds: state.options.idleSeconds) {
                state.isStopping.load(ordering: .relaxed)
            }
        } catch {
            state.options.log(error.advice)
            _ = Pipe.write(error.answer[...], to: client)
        }
    }

    /// Reads bytes until the request's header is complete, and returns them; `nil` if the header doesn't become
    /// complete.
    private func readHead() -> [UInt8]? {
        var head: [UInt8] = []
        // The time counts from the beginning: a client that sends a byte now and then gets no more.
        let deadline = ContinuousClock.now.advanced(by: .seconds(state.options.headerSeconds))
        while head.count < Tunnel.headerLimit, !state.isStopping.load(ordering: .relaxed) {
            guard ContinuousClock.now < deadline else {
                refuse(408, "Request Timeout", "the request's header didn't arrive in time")
                return nil
            }
            var waiting = pollfd(fd: client, events: Int16(POLLIN), revents: 0)
            guard poll(&waiting, 1, ProxyState.patience) > 0 else { continue }
            guard let part = Pipe.read(from: client), !part.isEmpty else { return nil }
            // The end can only be in bytes that haven't been searched yet.
            let seen = max(0, head.count - 3)
            head += part
            if head[seen...].firstRange(of: Array("\r\n\r\n".utf8)) != nil { return head }
        }
        if head.count >= Tunnel.headerLimit {
            refuse(
                431, "Request Header Fields Too Large",
                "the request's header is larger than \(Tunnel.headerLimit) bytes")
        }
        return nil
    }

    private func refuse(_ status: Int, _ reason: String, _ advice: String) {
        state.options.log(advice)
        _ = Pipe.write(Refusal(status, reason, advice).answer[...], to: client)
    }

    private func connect(for request: ProxyRequest) throws(Refusal) -> Int32 {
        let options = state.options
        guard options.plays(request.host) else {
            guard options.passesThrough else {
                throw Refusal(
                    403, "Forbidden",
                    "Understudy doesn't stand in for \(request.host): --proxy-passthrough lets requests to other hosts through"
                )
            }
            return try Connector.connect(request.host, request.port)
        }
        let world: String?
        switch request.credentials.map(options.world) ?? .unnamed {
        case .unnamed: world = nil
        case .named(let name): world = name
        // This isn't 407: a client that has sent a name would ask for another, or send the same again.
        case .refused(let advice): throw Refusal(400, "Bad World Name", advice)
        }
        let target =
            switch request.port {
            case 443: options.tlsPort
            case 80: options.httpPort
            default: UInt16?.none
            }
        guard let target, !(request.port == 443 && !request.isTunnel) else {
            throw Refusal(
                403, "Forbidden",
                "\(request.host) is served at port 443 (by CONNECT) and port 80; the request is for port \(request.port)"
            )
        }
        // The daemon trusts clients on this machine more. It would take a connection by TCP for one of theirs.
        guard world != nil || !ClientAddress.isLoopback(client) else {
            return try Connector.connect(loopbackOr: options.upstream, target)
        }
        return try connect(to: world, isSecure: request.port == 443)
    }

    /// Connects to the daemon, which runs in the same process as the proxy. All requests on this connection are for the
    /// test world `world`, including those that TLS hides from the proxy. If `world` is `nil`, the daemon's own rules
    /// choose the world of each request.
    private func connect(to world: String?, isSecure: Bool) throws(Refusal) -> Int32 {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, understudy_stream, 0, &ends) == 0 else {
            throw Refusal(503, "Service Unavailable", "the process has no file descriptor left")
        }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            understudy_silence(end)
        }
        guard state.options.handOver(ends[1], isSecure, world) else {
            close(ends[0])
            throw Refusal(503, "Service Unavailable", "the daemon accepts no more connections")
        }
        return ends[0]
    }
}

/// The reason why the HTTP proxy refuses a request.
struct Refusal: Error {
    let status: Int
    let reason: String
    let advice: String

    init(_ status: Int, _ reason: String, _ advice: String) {
        self.status = status
        self.reason = reason
        // The text is sent in a header, so it must be a line of ASCII.
        self.advice = String(decoding: advice.utf8.map { (0x20..<0x7F).contains($0) ? $0 : 0x3F }, as: UTF8.self)
    }

    var answer: [UInt8] {
        let body = "understudy: \(advice)\n"
        return Array(
            ("HTTP/1.1 \(status) \(reason)\r\nContent-Type: text/plain\r\nUnderstudy-Diagnosis: \(advice)\r\n"
                + "Content-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)").utf8)
    }
}

/// The first request that a client sends on its connection to the proxy.
struct ProxyRequest {
    let isTunnel: Bool
    /// The authority in the request's target as the client sent it: a host, and perhaps a port.
    let authority: String
    let host: String
    let port: UInt16
    /// The value of the request's header `Proxy-Authorization`:
    /// <https://www.rfc-editor.org/rfc/rfc9110#section-11.7.2>.
    let credentials: String?
    /// The position of the first byte after the request's header.
    let end: Int

    init(_ head: [UInt8]) throws(Refusal) {
        let blank = head.firstRange(of: Array("\r\n\r\n".utf8))
        end = blank?.upperBound ?? head.count
        let line = head.prefix { $0 != 0x0D && $0 != 0x0A }
        let words = String(decoding: line, as: UTF8.self).split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, words[2].hasPrefix("HTTP/1.") else {
            throw Refusal(400, "Bad Request", "this is an HTTP proxy, but the request isn't HTTP")
        }
        isTunnel = words[0] == "CONNECT"
        var authority = words[1]
        var usual: UInt16 = 443
        if !isTunnel {
            guard authority.lowercased().hasPrefix("http://") else {
                throw Refusal(
                    400, "Bad Request",
                    "this is a proxy: send CONNECT or an absolute http:// URL, or use the daemon's own port instead"
                )
            }
            authority = authority.dropFirst("http://".count).prefix { $0 != "/" && $0 != "?" }
            usual = 80
        }
        guard let (host, port) = ProxyRequest.split(authority, usual: usual) else {
            throw Refusal(400, "Bad Request", "\(authority.prefix(200)) isn't a host with a port: expected HOST:PORT")
        }
        self.host = host
        self.port = port
        self.authority = String(authority)
        credentials = ProxyRequest.value(of: "proxy-authorization", in: head[..<end])
    }

    private static func value(of name: String, in header: ArraySlice<UInt8>) -> String? {
        for line in header.split(separator: UInt8(ascii: "\n")).dropFirst() {
            let text = String(decoding: line, as: UTF8.self)
            guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), text[..<colon].lowercased() == name else {
                continue
            }
            return String(text[text.utf8.index(after: colon)...].filter { $0 != "\r" && $0 != "\r\n" })
        }
        return nil
    }

    /// Returns the request's bytes with `Connection: close`, so that no second request follows on the connection. A
    /// second request could be for a host that the proxy hasn't checked. `Host` becomes that of the request's target:
    /// <https://www.rfc-editor.org/rfc/rfc9112#section-3.2.2>.
    func once(_ head: [UInt8]) -> [UInt8] {
        let replaced = ["host", "connection", "proxy-connection", "keep-alive", "proxy-authorization"]
        // The last line is empty. It is added again below.
        let lines = head[..<end].split(separator: UInt8(ascii: "\n")).dropLast().filter { line in
            !replaced.contains(String(decoding: line.prefix { $0 != UInt8(ascii: ":") }, as: UTF8.self).lowercased())
        }
        return lines.flatMap { $0 + [UInt8(ascii: "\n")] }
            + Array("Host: \(authority)\r\nConnection: close\r\n\r\n".utf8) + head[end...]
    }

    private static func split(_ authority: Substring, usual: UInt16) -> (host: String, port: UInt16)? {
        var host = authority
        var port = usual
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { return nil }
            host = authority[..<end].dropFirst()
            let rest = authority[end...].dropFirst()
            if !rest.isEmpty {
                guard rest.hasPrefix(":"), let number = UInt16(rest.dropFirst()) else { return nil }
                port = number
            }
        } else if let colon = authority.utf8.lastIndex(of: UInt8(ascii: ":")) {
            guard let number = UInt16(authority[colon...].dropFirst()) else { return nil }
            host = authority[..<colon]
            port = number
        }
        guard !host.isEmpty, host.utf8.count <= 253, host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            return nil
        }
        return (host.lowercased(), port)
    }
}
