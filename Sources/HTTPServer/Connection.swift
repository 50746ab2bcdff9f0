/// One connection, from its acceptance until its descriptor is closed. Its gate's lock guards what can change.
final class Connection: @unchecked Sendable {
    enum Phase {
        /// Accepted, but no worker has opened it yet.
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
    /// The client's address, when the number of its connections is limited.
    let key: [UInt8]?
    /// What its requests are labelled with: `Request.label`.
    let label: String?
    /// Whether its client is on this machine: `Request.isFromLoopback`.
    let isFromLoopback: Bool
    var phase = Phase.new
    /// When the phase began, in seconds of the gate's clock.
    var since: Int64 = 0
    /// Whether a request has begun.
    var hasRequest = false
    /// Whether it waits for a delayed answer or reads a stream.
    var isHeld = false
    /// Whether it has been shut down; its worker closes it then.
    var isClosing = false
    /// How many bytes of the current request's body have arrived.
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

/// Connections in the order in which they came; any can be taken out in one step.
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
