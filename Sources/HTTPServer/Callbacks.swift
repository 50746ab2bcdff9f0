import CMicrohttpd
import CConnections
import Platform
import Synchronization

// libmicrohttpd calls these from its workers. They are functions in a file of their own, not closures, because a
// closure may inherit an actor's isolation from where it is written and would trap on a thread that isn't the actor's.

private func server(_ context: UnsafeMutableRawPointer?) -> Workers? {
    context.map { Unmanaged<Workers>.fromOpaque($0).takeUnretainedValue() }
}

func connectionCallback(
    context: UnsafeMutableRawPointer?, connection: OpaquePointer?,
    connectionContext: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, event: MHD_ConnectionNotificationCode
) {
    understudy_note_worker()
    guard let gate = server(context)?.gate, let connectionContext else { return }
    if event.rawValue == 0 {
        let opened = gate.opened(understudy_descriptor(connection))
        connectionContext.pointee = opened.map { Unmanaged.passRetained($0).toOpaque() }
    } else if let raw = connectionContext.pointee {
        connectionContext.pointee = nil
        gate.closed(Unmanaged<Connection>.fromOpaque(raw).takeRetainedValue())
    }
}

/// Begins an HTTP request. The HTTP library libmicrohttpd calls this before it decodes the request target.
///
/// This function hides the query's fields and the cookies from libmicrohttpd. Otherwise the library would copy
/// thousands of them into the connection's memory, and close the connection without an answer if they don't fit. To
/// hide them, every `&` of the query is overwritten in the library's buffer, and an empty `Cookie` header is put before
/// the others.
func beginCallback(
    context: UnsafeMutableRawPointer?, target: UnsafePointer<CChar>?, connection: OpaquePointer?
) -> UnsafeMutableRawPointer? {
    understudy_note_worker()
    guard let server = server(context), let watch = server.watch, let raw = understudy_connection_context(connection)
    else { return nil }
    let opened = Unmanaged<Connection>.fromOpaque(raw).takeUnretainedValue()
    server.inFlight.add(1, ordering: .relaxed)
    server.gate.began(opened)
    let transaction = HTTPTransaction(
        target: target.map { String(cString: $0) } ?? "/", pointer: connection, connection: opened, watch: watch,
        gate: server.gate, suspensions: server.suspensions)
    var rest = target.flatMap { strchr($0, 0x3F) }
    while let mark = rest {
        if mark.pointee == 0x26 { mark.pointee = 0x5F }
        rest = strchr(mark + 1, 0x26)
    }
    understudy_hide_cookies(connection)
    return Unmanaged.passRetained(transaction).toOpaque()
}

func handleCallback(
    context: UnsafeMutableRawPointer?, connection: OpaquePointer?, url: UnsafePointer<CChar>?,
    method: UnsafePointer<CChar>?, version: UnsafePointer<CChar>?, data: UnsafePointer<CChar>?,
    size: UnsafeMutablePointer<Int>?, requestContext: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
    guard let server = server(context), let raw = requestContext?.pointee, let method, let size else { return .NO }
    let transaction = Unmanaged<HTTPTransaction>.fromOpaque(raw).takeUnretainedValue()
    if !transaction.isStarted { transaction.needsHost = version.map { strcmp($0, "HTTP/1.1") == 0 } ?? false }
    return server.receive(transaction, method: String(cString: method), data: data, size: &size.pointee)
}

func completedCallback(
    context: UnsafeMutableRawPointer?, connection: OpaquePointer?,
    requestContext: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, reason: MHD_RequestTerminationCode
) {
    guard let raw = requestContext?.pointee else { return }
    requestContext?.pointee = nil
    let transaction = Unmanaged<HTTPTransaction>.fromOpaque(raw).takeRetainedValue()
    server(context)?.finished(transaction)
}

func readCallback(
    context: UnsafeMutableRawPointer?, position: UInt64, buffer: UnsafeMutablePointer<CChar>?, limit: Int
) -> Int {
    guard let context, let buffer else { return understudy_end_with_error }
    return Unmanaged<BodyReader>.fromOpaque(context).takeUnretainedValue().read(
        at: position, into: buffer, upTo: limit)
}

func releaseReaderCallback(context: UnsafeMutableRawPointer?) {
    if let context { Unmanaged<BodyReader>.fromOpaque(context).release() }
}

func collectHeader(
    into context: UnsafeMutableRawPointer?, kind: MHD_ValueKind, name: UnsafePointer<CChar>?,
    value: UnsafePointer<CChar>?
) -> MHD_Result {
    guard let context, let name else { return .YES }
    let headers = context.assumingMemoryBound(to: [(name: String, value: String)].self)
    let isOurs = headers.pointee.isEmpty && value?.pointee == 0 && strcasecmp(name, "Cookie") == 0
    // This is the empty header that `beginCallback` added. An empty one from the client has no meaning either.
    guard !isOurs else { return .YES }
    headers.pointee.append((name: String(cString: name), value: value.map { String(cString: $0) } ?? ""))
    return .YES
}

func logCallback(context: UnsafeMutableRawPointer?, line: UnsafePointer<CChar>?) {
    guard let server = server(context), let line = line.map({ String(cString: $0) }) else { return }
    server.options.log(line)
    if let reason = MicrohttpdRefusal.reason(in: line) {
        understudy_replace_next_answer(refusalCallback, context, reason)
    }
}

/// Answers a request that the HTTP library libmicrohttpd refuses. The answer replaces the library's own error response.
func refusalCallback(
    context: UnsafeMutableRawPointer?, connection: OpaquePointer?, status: UInt32, reason: UnsafePointer<CChar>?
) -> Int32 {
    guard let server = server(context), let reason = reason.map({ String(cString: $0) }) else { return 0 }
    let isChunkLine = MicrohttpdRefusal.isChunkLine(status)
    let refusal = server.refuse(
        isChunkLine ? 400 : Int(status), isChunkLine ? MicrohttpdRefusal.chunkLine(server.options) : reason)
    // libmicrohttpd queues this refusal too early and would send the header twice, so ours is sent to the socket
    // directly. The other refusals must be queued: libmicrohttpd uses the connection again if no answer was queued.
    guard reason.contains("Content-Length") else {
        guard let message = Message(refusal) else { return 0 }
        defer { message.release() }
        return message.queue(on: connection, status: refusal.status) == .YES ? 1 : 0
    }
    let bytes = MicrohttpdRefusal.bytes(of: refusal)
    bytes.withUnsafeBytes { understudy_send_now(connection, $0.baseAddress, $0.count) }
    return 0
}
