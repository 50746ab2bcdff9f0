/// An HTTP response. The HTTP library libmicrohttpd adds the headers `Date`, `Content-Length` and `Connection`.
package struct Response: Sendable {
    /// The way in which the bytes of an HTTP response are sent: whole, cut off, not at all, or as a stream.
    package enum Delivery: Sendable {
        case whole
        /// The connection is closed before the first byte of the response's header.
        case dropped
        /// The response's header announces the whole body, but the connection is closed in the middle of it.
        case cut
        /// The response's body is the content of the stream. The body ends when the stream ends.
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

/// The result of handling a request: a response, or a closure that makes one later. Until there is a response, the
/// connection is suspended and occupies no thread.
package enum Reply: Sendable {
    case now(Response)
    /// The response is made later by this closure, which gets a completion and calls it with the response.
    case later(@Sendable (Completion) -> Void)

    /// Returns a reply whose response is this reply's response, changed by `change`.
    package func map(_ change: @escaping @Sendable (Response) -> Response) -> Reply {
        switch self {
        case .now(let response): .now(change(response))
        case .later(let start): .later { done in start(done.through(change)) }
        }
    }

    /// Passes the response to `done` as soon as the response is ready.
    package func deliver(_ done: Completion) {
        switch self {
        case .now(let response): done(response)
        case .later(let start): start(done)
        }
    }

    /// Returns a reply that sends `response` after `duration`.
    package static func after(_ duration: Duration, _ response: Response) -> Reply {
        Reply.now(response).delayed(by: duration)
    }

    /// Delays the response by `duration`. If the client disconnects, or the delayed responses take too much memory, the
    /// delay ends early.
    package func delayed(by duration: Duration) -> Reply {
        .later { done in
            let wait: @Sendable (Response) -> Void = { response in
                let timer = DelayedResponses.shared.hold(response.body.count, for: duration) { done(response) }
                done.whenAbandoned { timer.fireNow() }
            }
            switch self {
            case .now(let response): wait(response)
            case .later(let start): start(done.then(wait))
            }
        }
    }
}
