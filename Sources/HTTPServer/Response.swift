/// One HTTP response. libmicrohttpd adds `Date`, `Content-Length` and `Connection`.
package struct Response: Sendable {
    /// How the bytes travel.
    package enum Delivery: Sendable {
        case whole
        /// The connection is closed before the first byte of the header.
        case dropped
        /// The header announces the whole body; the connection is closed in the middle of it.
        case cut
        /// The body is what is sent on the stream until it ends.
        case stream(EventStream)
    }

    package var status: Int
    package var headers: [(name: String, value: String)]
    package var body: [UInt8]
    package var delivery = Delivery.whole

    package init(status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    package init(status: Int, contentType: String, headers: [(name: String, value: String)] = [], body: String) {
        self.init(status: status, contentType: contentType, headers: headers, body: Array(body.utf8))
    }

    package init(status: Int, contentType: String, headers: [(name: String, value: String)] = [], body: [UInt8]) {
        self.init(status: status, headers: [(name: "Content-Type", value: contentType)] + headers, body: body)
    }

    package static func redirect(to location: String, status: Int = 302) -> Response {
        Response(status: status, headers: [(name: "Location", value: location)])
    }

    package func header(_ name: String) -> String? {
        headers.first { $0.name.equalsIgnoringASCIICase(name) }?.value
    }
}

/// What a handler returns: a response, or how to get it later. Until then the connection is suspended and occupies no thread.
package enum Reply: Sendable {
    case now(Response)
    /// The closure is given the completion to call with the response.
    case later(@Sendable (Completion) -> Void)

    /// The same reply with its response changed.
    package func map(_ change: @escaping @Sendable (Response) -> Response) -> Reply {
        switch self {
        case .now(let response): .now(change(response))
        case .later(let start): .later { done in start(done.through(change)) }
        }
    }

    /// Hands the response over once it is there.
    package func deliver(_ done: Completion) {
        switch self {
        case .now(let response): done(response)
        case .later(let start): start(done)
        }
    }

    /// The response, `duration` from now.
    package static func after(_ duration: Duration, _ response: Response) -> Reply {
        Reply.now(response).delayed(by: duration)
    }

    /// The same response, `duration` after it is there; sooner, when nobody waits for it any more.
    package func delayed(by duration: Duration) -> Reply {
        .later { done in
            let wait: @Sendable (Response) -> Void = { response in
                let timer = Timer.after(duration) { done(response) }
                done.whenAbandoned { timer.fireNow() }
            }
            switch self {
            case .now(let response): wait(response)
            case .later(let start): start(done.then(wait))
            }
        }
    }
}
