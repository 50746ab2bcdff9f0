/// An HTTP response. libmicrohttpd adds `Date`, `Content-Length` and `Connection`.
package struct Response: Sendable {
    /// The way in which the bytes are sent.
    package enum Delivery: Sendable {
        case whole
        /// The connection is closed before the first byte of the header.
        case dropped
        /// The header announces the whole body; the connection is closed in the middle of it.
        case cut
        /// The body is the content of the stream, until it ends.
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

/// A handler's result: a response, or a closure that makes one later. Until then the connection is suspended and
/// occupies no thread.
package enum Reply: Sendable {
    case now(Response)
    /// The closure gets a completion, and calls it with the response.
    case later(@Sendable (Completion) -> Void)

    /// Returns the reply with its response changed.
    package func map(_ change: @escaping @Sendable (Response) -> Response) -> Reply {
        switch self {
        case .now(let response): .now(change(response))
        case .later(let start): .later { done in start(done.through(change)) }
        }
    }

    /// Passes the response on as soon as it is there.
    package func deliver(_ done: Completion) {
        switch self {
        case .now(let response): done(response)
        case .later(let start): start(done)
        }
    }

    /// Returns a reply with this response, `duration` from now.
    package static func after(_ duration: Duration, _ response: Response) -> Reply {
        Reply.now(response).delayed(by: duration)
    }

    /// Delays the response by `duration`. If the client has gone, the delay ends early.
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
