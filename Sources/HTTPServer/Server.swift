import Platform

/// An HTTP/1.1 server: a thread that accepts connections, libmicrohttpd's workers, and one handler that answers. It stops when
/// the last reference to it is gone.
///
/// Worker threads refer to `Workers` and never to the server: one that held the last reference to the server would have to wait
/// for its own end.
package final class Server: Sendable {
    package typealias Handler = @Sendable (Request) -> Reply

    /// A certificate with its chain and its key, in PEM.
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
        /// 0 takes a free port.
        package var port: UInt16 = 0
        /// Threads that serve connections; one a core by default.
        package var workers = max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
        package var bodyLimitBytes = 1 << 20
        /// What may be larger, and how large, by method and target: `nil` for all else.
        package var bodyLimitBytesOf: @Sendable (_ method: String, _ target: String) -> Int? = { _, _ in nil }
        /// Bytes of all requests' bodies at once.
        package var bodyLimitBytesTogether = 64 << 20
        package var headerLimitBytes = 32 << 10
        /// Bytes in which libmicrohttpd keeps what it reads of a request at once.
        var connectionMemory: Int { headerLimitBytes * 2 }
        package var idleTimeoutSeconds = 30
        /// Seconds in which a request must have arrived whole.
        package var requestSeconds: Int64 = 60
        /// Seconds in which an answer must have been read, unless it is a stream.
        package var answerSeconds: Int64 = 120
        /// Lower when the limit of open files is.
        package var connectionLimit = 4096
        /// For each address that isn't loopback.
        package var connectionLimitPerAddress = 64
        /// Sockets that listen already, as a service manager hands them on; in their place `host` and `port` mean nothing.
        package var listening: [Int32] = []
        /// Speaks TLS 1.2 and 1.3 with this certificate.
        package var tls: TLS?
        /// Has libmicrohttpd wait by poll, as it does on systems without epoll.
        package var polls = false
        /// How long `stop` waits for requests in flight.
        package var stopGrace = Duration.milliseconds(1000)
        /// What the server itself answers before the handler sees a request: given the status, why, and the target as far as it is
        /// known.
        package var refusal: @Sendable (_ status: Int, _ reason: String, _ target: String?) -> Response = {
            (status, reason, _) in Response(status: status, contentType: "text/plain", body: "\(reason)\n")
        }
        /// The name of the header that says why a connection is closed.
        package var diagnosisHeader = "Understudy-Diagnosis"
        /// Takes warnings for whoever runs the server: one line each, at most one in ten seconds.
        package var warn: @Sendable (String) -> Void = { _ in }
        /// Takes libmicrohttpd's messages, one line each.
        package var log: @Sendable (String) -> Void = { _ in }

        package init() {}
    }

    private let workers: Workers

    /// Starts listening; the handler is called on a worker's thread and should not block it.
    package init(_ options: Options, handler: @escaping Handler) throws(ListenError) {
        workers = try Workers(options, handler: handler)
    }

    /// The port that is listened on.
    package var port: UInt16 { workers.port }

    /// Listens on a further port, 0 for a free one, at the same host. Its requests are labelled with `label`.
    package func listen(on port: UInt16, label: String) throws(ListenError) -> LabelledPort {
        try workers.listen(on: port, label: label)
    }

    /// Takes a connection that was made within the process, whose requests are labelled with `label`, and owns its descriptor.
    /// `false` when it takes no more; the descriptor is closed then.
    package func adopt(_ descriptor: Int32, label: String) -> Bool { workers.adopt(descriptor, label: label) }

    /// What has been counted about its connections since the start.
    package var counters: ServerCounters { workers.gate.counters }

    /// Stops accepting, ends streams, lets requests in flight finish within the grace, answers 503 to those still
    /// suspended, and closes everything. Safe to call twice.
    package func stop() { workers.stop() }

    /// Goes on answering, new connections too, but closes each connection with its next answer: whoever has it, such as a
    /// balancer, connects anew, and elsewhere if it knows where. Comes before `stop`.
    package func announceEnd() { workers.isEnding.store(true, ordering: .relaxed) }

    /// Stops when another server has taken over the listening sockets: clients that are connected already may send one more
    /// request, within `grace`. Blocks until then; `stop` cuts it short.
    package func retire(within grace: Duration) { workers.retire(within: grace) }

    deinit { workers.stop() }
}
