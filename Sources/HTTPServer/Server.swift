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
        /// The port; 0 chooses a free one.
        package var port: UInt16 = 0
        /// The number of threads that serve connections, by default one a core.
        package var workers = max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
        package var bodyLimitBytes = 1 << 20
        /// The largest body for a method and a target, if it differs from `bodyLimitBytes`; otherwise `nil`.
        package var bodyLimitBytesOf: @Sendable (_ method: String, _ target: String) -> Int? = { _, _ in nil }
        /// The most bytes of all request bodies together.
        package var bodyLimitBytesTogether = 64 << 20
        package var headerLimitBytes = 32 << 10
        /// The bytes of memory in which libmicrohttpd reads a request.
        var connectionMemory: Int { headerLimitBytes * 2 }
        package var idleTimeoutSeconds = 30
        /// The seconds in which a whole request must have arrived.
        package var requestSeconds: Int64 = 60
        /// The seconds in which an answer must have been read, unless it is a stream.
        package var answerSeconds: Int64 = 120
        /// The most connections; fewer if the limit of open files is low.
        package var connectionLimit = 4096
        /// The most connections of each address but loopback.
        package var connectionLimitPerAddress = 64
        /// Sockets that are listening already, for example from a service manager. They replace `host` and `port`.
        package var listening: [Int32] = []
        /// The certificate for TLS 1.2 and 1.3; `nil` for plain HTTP.
        package var tls: TLS?
        /// Makes libmicrohttpd use `poll`, as on systems without epoll.
        package var polls = false
        /// The time that `stop` waits for requests in flight.
        package var stopGrace = Duration.milliseconds(1000)
        /// Makes the answers of the server itself, without the handler. It gets the status, the reason, and the target
        /// if it is known.
        package var refusal: @Sendable (_ status: Int, _ reason: String, _ target: String?) -> Response = {
            (status, reason, _) in Response(status: status, contentType: "text/plain", body: "\(reason)\n")
        }
        /// The name of the header that says why a connection was closed.
        package var diagnosisHeader = "Understudy-Diagnosis"
        /// Receives warnings for the operator, a line each, at most one in ten seconds.
        package var warn: @Sendable (String) -> Void = { _ in }
        /// Receives libmicrohttpd's messages, a line each.
        package var log: @Sendable (String) -> Void = { _ in }

        package init() {}
    }

    private let workers: Workers

    /// Starts listening. The handler is called on a worker's thread and should not block it.
    package init(_ options: Options, handler: @escaping Handler) throws(ListenError) {
        workers = try Workers(options, handler: handler)
    }

    /// The port's number.
    package var port: UInt16 { workers.port }

    /// Listens on a further port at the same host; 0 chooses a free one. Its requests get the label.
    package func listen(on port: UInt16, label: String) throws(ListenError) -> LabelledPort {
        try workers.listen(on: port, label: label)
    }

    /// Serves a connection made within the process, and owns its descriptor. Its requests get the label. Returns
    /// `false` and closes the descriptor if the server accepts no more connections.
    package func adopt(_ descriptor: Int32, label: String) -> Bool { workers.adopt(descriptor, label: label) }

    /// The counters of the server's connections since the start.
    package var counters: ServerCounters { workers.gate.counters }

    /// Stops: accepts no more connections, ends streams, waits a moment for requests in flight, answers 503 to those
    /// still suspended, and closes everything. It may be called twice.
    package func stop() { workers.stop() }

    /// Closes each connection with its next answer, so that clients and load balancers connect again, elsewhere if they
    /// can. New connections are still served. Call it before `stop`.
    package func announceEnd() { workers.isEnding.store(true, ordering: .relaxed) }

    /// Stops after another server has taken over the listening sockets. Connected clients may send one more request
    /// within `grace`. This call blocks until then; `stop` ends it early.
    package func retire(within grace: Duration) { workers.retire(within: grace) }

    deinit { workers.stop() }
}

/// The counters of a server's connections.
package struct ServerCounters: Sendable, Equatable {
    /// The number of open connections.
    package var open = 0
    /// The number of open connections that wait for a delayed answer or read a stream.
    package var held = 0
    /// The bytes of request bodies in memory.
    package var bodyBytes = 0
    /// The refusals by a limit since the start: connections, requests that would have had to wait, and bodies for which
    /// there was no memory.
    package var refused: UInt64 = 0
    /// The connections closed in favour of others, while the client was still sending or reading.
    package var evicted: UInt64 = 0
    /// The connections closed because the client took too long to send or to read.
    package var expired: UInt64 = 0
    /// The answers that weren't sent because the client had gone.
    package var abandoned: UInt64 = 0

    package init() {}

    /// Returns the sum of two servers' counters.
    package static func + (left: ServerCounters, right: ServerCounters) -> ServerCounters {
        var sum = left
        sum.open += right.open
        sum.held += right.held
        sum.bodyBytes += right.bodyBytes
        sum.refused &+= right.refused
        sum.evicted &+= right.evicted
        sum.expired &+= right.expired
        sum.abandoned &+= right.abandoned
        return sum
    }
}
