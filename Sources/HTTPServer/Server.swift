import Platform

/// An HTTP/1.1 server: a thread that accepts connections, libmicrohttpd's workers, and a handler that answers. It stops
/// when the last reference to it is released.
///
/// Worker threads refer to `Workers` and never to the server: a worker with the last reference to the server would have
/// to wait for its own end.
package final class Server: Sendable {
    package typealias Handler = @Sendable (Request) -> Reply

    /// A TLS certificate, its chain and its key, in PEM.
    package struct TLS: Sendable {
        package let chain: String
        package let key: String

        package init(chain: String, key: String) {
            self.chain = chain
            self.key = key
        }
    }

    package struct Options: Sendable {
        package var host = "127.0.0.1"
        /// The port on which the server listens; 0 chooses a free one.
        package var port: UInt16 = 0
        /// The number of threads that serve connections, by default one for each processor core.
        package var workers = max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
        package var bodyLimitBytes = 1 << 20
        /// Returns the limit in bytes for the body of a request with this method and target; `nil` if `bodyLimitBytes`
        /// applies.
        package var bodyLimitBytesOf: @Sendable (_ method: String, _ target: String) -> Int? = { _, _ in nil }
        /// The greatest number of bytes that the bodies of all requests together may take in memory.
        package var bodyLimitBytesTogether = 64 << 20
        /// The greatest number of bytes that the answers which clients are reading together may take in memory. A single
        /// answer may take more.
        package var answerLimitBytesTogether = 256 << 20
        package var headerLimitBytes = 32 << 10
        /// The bytes of memory that the HTTP library libmicrohttpd has for reading a request on a connection.
        var connectionMemory: Int { headerLimitBytes * 2 }
        package var idleTimeoutSeconds = 30
        /// The seconds in which each part of a request must have arrived: first its first line, then the rest of its
        /// header, and then its body.
        package var requestSeconds: Int64 = 60
        /// The seconds in which the client must have read an answer, unless the answer is a stream.
        package var answerSeconds: Int64 = 120
        /// The most connections of the server; fewer if the limit of open files is low.
        package var connectionLimit = 4096
        /// The most connections of each client's IP address, except loopback.
        package var connectionLimitPerAddress = 64
        /// Sockets that already listen, for example from a service manager. They replace `host` and `port`.
        package var listening: [Int32] = []
        /// The server's certificate for TLS 1.2 and 1.3; `nil` for plain HTTP.
        package var tls: TLS?
        /// Whether the HTTP library libmicrohttpd uses `poll`, as on systems without epoll.
        package var polls = false
        /// The time that `stop` waits for requests that are still being answered.
        package var stopGrace = Duration.milliseconds(1000)
        /// Called to make the response to a request that the server refuses without calling its handler. The arguments
        /// are the status, the reason, and the request target, which is `nil` if it isn't known.
        package var refusal: @Sendable (_ status: Int, _ reason: String, _ target: String?) -> Response = {
            (status, reason, _) in Response(status: status, contentType: "text/plain", body: "\(reason)\n")
        }
        /// The name of the response header that says why a connection was closed.
        package var diagnosisHeader = "Understudy-Diagnosis"
        /// Receives warnings for the operator of the server. Each is one line, and there is at most one in ten seconds.
        package var warn: @Sendable (String) -> Void = { _ in }
        /// Receives the log messages of the HTTP library libmicrohttpd, a line each.
        package var log: @Sendable (String) -> Void = { _ in }

        package init() {}
    }

    private let workers: Workers

    /// Starts an HTTP server. The handler of requests is called on a worker's thread and should not block it.
    package init(_ options: Options, handler: @escaping Handler) throws(ListenError) {
        workers = try Workers(options, handler: handler)
    }

    package var port: UInt16 { workers.port }

    /// Makes the server listen on a further port at the same host; 0 chooses a free port. Each request to the further
    /// port carries `label`.
    package func listen(on port: UInt16, label: String) throws(ListenError) -> LabelledPort {
        try workers.listen(on: port, label: label)
    }

    /// Serves a connection made within the process, and owns its descriptor. Each request of the connection carries
    /// `label`. Returns `false` and closes the descriptor if the server accepts no more connections.
    package func adopt(_ descriptor: Int32, label: String?) -> Bool { workers.adopt(descriptor, label: label) }

    /// The counters of the server's connections since its start: open, refused, closed early.
    package var counters: ServerCounters { workers.gate.counters }

    /// Stops the server: accepts no more connections, ends streams, waits a moment for requests in flight, answers 503
    /// to those that aren't finished by then, and closes everything. It may be called twice.
    package func stop() { workers.stop() }

    /// Makes the server close each connection with its next answer, so that clients and load balancers connect again,
    /// to another server if they can. New connections are still served. Call it before `stop`.
    package func announceEnd() { workers.isEnding.store(true, ordering: .relaxed) }

    /// Stops the server after another process has taken over the listening sockets. Connected clients may send one more
    /// request within `grace`. This call blocks until the clients have disconnected or `grace` has passed; `stop` ends
    /// it early.
    package func retire(within grace: Duration) { workers.retire(within: grace) }

    deinit { workers.stop() }
}

/// The counters of an HTTP server's connections: open, refused, closed early.
package struct ServerCounters: Sendable, Equatable {
    package var open = 0
    /// The number of open connections that wait for a delayed answer or read a stream.
    package var held = 0
    /// The bytes that request bodies take in memory.
    package var bodyBytes = 0
    /// The bytes of the answers that clients are reading.
    package var answerBytes = 0
    /// The number of connections and requests refused because of a limit, since the server's start. There are limits
    /// for connections, for open files, for delayed or streamed answers, and for the memory of request bodies.
    package var refused: UInt64 = 0
    /// The number of connections that were closed in favour of others, while the client was still sending or reading.
    package var evicted: UInt64 = 0
    /// The number of connections that were closed because the client took too long to send or to read.
    package var expired: UInt64 = 0
    /// The number of answers that weren't sent because the client had disconnected.
    package var abandoned: UInt64 = 0

    package init() {}

    /// Returns the sum of two servers' connection counters.
    package static func + (left: ServerCounters, right: ServerCounters) -> ServerCounters {
        var sum = left
        sum.open += right.open
        sum.held += right.held
        sum.bodyBytes += right.bodyBytes
        sum.answerBytes += right.answerBytes
        sum.refused &+= right.refused
        sum.evicted &+= right.evicted
        sum.expired &+= right.expired
        sum.abandoned &+= right.abandoned
        return sum
    }
}
