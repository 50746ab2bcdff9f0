import CMicrohttpd
import Glibc
import Synchronization

// libmicrohttpd calls these from its workers. They are functions in a file of their own, not closures, because a
// closure may inherit an actor's isolation from where it is written and would trap on a thread that isn't the actor's.

private func server(_ context: UnsafeMutableRawPointer?) -> Workers? {
    context.map { Unmanaged<Workers>.fromOpaque($0).takeUnretainedValue() }
}

func acceptCallback(
    context: UnsafeMutableRawPointer?, address: UnsafePointer<sockaddr>?, length: socklen_t
) -> MHD_Result {
    server(context)?.gate.admits(address) ?? false ? .YES : .NO
}

func connectionCallback(
    context: UnsafeMutableRawPointer?, connection: OpaquePointer?,
    connectionContext: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, event: MHD_ConnectionNotificationCode
) {
    let address = understudy_client_address(connection)
    if event.rawValue == 0 {
        server(context)?.gate.opened(address)
    } else {
        server(context)?.gate.closed(address)
    }
}

/// Called with the request's target as it was sent, before libmicrohttpd decodes it in place.
///
/// Every `&` is then overwritten in libmicrohttpd's buffer (its own, and writable), so that it finds one field in the
/// query. Nobody here asks it for fields, and thousands of them wouldn't fit the connection's memory: it would drop the
/// connection without a word.
func beginCallback(
    context: UnsafeMutableRawPointer?, target: UnsafePointer<CChar>?, connection: OpaquePointer?
) -> UnsafeMutableRawPointer? {
    server(context)?.inFlight.add(1, ordering: .relaxed)
    let transaction = Transaction(target: target.map { String(cString: $0) } ?? "/", connection: connection)
    var rest = target.flatMap { strchr($0, 0x3F) }
    while let mark = rest {
        if mark.pointee == 0x26 { mark.pointee = 0x5F }
        rest = strchr(mark + 1, 0x26)
    }
    return Unmanaged.passRetained(transaction).toOpaque()
}

func handleCallback(
    context: UnsafeMutableRawPointer?, connection: OpaquePointer?, url: UnsafePointer<CChar>?,
    method: UnsafePointer<CChar>?, version: UnsafePointer<CChar>?, data: UnsafePointer<CChar>?,
    size: UnsafeMutablePointer<Int>?, requestContext: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
    guard let server = server(context), let raw = requestContext?.pointee, let method, let size else { return .NO }
    let transaction = Unmanaged<Transaction>.fromOpaque(raw).takeUnretainedValue()
    return server.receive(transaction, method: String(cString: method), data: data, size: &size.pointee)
}

func completedCallback(
    context: UnsafeMutableRawPointer?, connection: OpaquePointer?,
    requestContext: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, reason: MHD_RequestTerminationCode
) {
    guard let raw = requestContext?.pointee else { return }
    requestContext?.pointee = nil
    let transaction = Unmanaged<Transaction>.fromOpaque(raw).takeRetainedValue()
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
    headers.pointee.append((name: String(cString: name), value: value.map { String(cString: $0) } ?? ""))
    return .YES
}

func logCallback(context: UnsafeMutableRawPointer?, format: UnsafePointer<CChar>?, arguments: CVaListPointer?) {
    guard let server = server(context), let format, let arguments else { return }
    var line = [CChar](repeating: 0, count: 512)
    vsnprintf(&line, line.count, format, arguments)
    server.options.log(
        String(decoding: line.prefix { $0 != 0 && $0 != 0x0A }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
}
