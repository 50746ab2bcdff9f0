/// A connection, from its acceptance until its descriptor is closed. The gate's lock protects its variables.
final class Connection: @unchecked Sendable {
    enum Phase {
        /// The connection is accepted, but no worker has opened it yet.
        case new
        /// The client sends a header, or nothing.
        case waiting
        /// The client sends a body.
        case sendingBody
        /// The server works on the request.
        case working
        /// The client reads the answer.
        case reading
    }

    let descriptor: Int32
    /// The client's address, if the number of its connections is limited.
    let key: [UInt8]?
    /// The label of its requests: `Request.label`.
    let label: String?
    /// Whether its client is on this machine: `Request.isFromLoopback`.
    let isFromLoopback: Bool
    var phase = Phase.new
    /// The time at which the phase began, in seconds of the gate's clock.
    var since: Int64 = 0
    /// Whether a request has begun.
    var hasRequest = false
    /// Whether the connection waits for a delayed answer or reads a stream.
    var isHeld = false
    /// Whether the connection has been shut down; its worker closes it next.
    var isClosing = false
    /// The number of bytes of the current request's body that have arrived.
    var bodyBytes = 0
    fileprivate(set) var next: Connection?
    fileprivate(set) unowned(unsafe) var previous: Connection?

    init(_ descriptor: Int32, key: [UInt8]?, label: String? = nil, isAdopted: Bool = false) {
        self.descriptor = descriptor
        self.key = key
        self.label = label
        isFromLoopback = key == nil && !isAdopted
    }
}

/// A list of connections in the order of their arrival. Any of them can be removed in one step.
struct ConnectionList {
    private(set) var first: Connection?
    private unowned(unsafe) var last: Connection?

    mutating func append(_ connection: Connection) {
        connection.previous = last
        connection.next = nil
        if let last { last.next = connection } else { first = connection }
        last = connection
    }

    mutating func remove(_ connection: Connection) {
        let (previous, next) = (connection.previous, connection.next)
        if let previous { previous.next = next } else { first = next }
        if let next { next.previous = previous } else { last = previous }
        connection.previous = nil
        connection.next = nil
    }
}
