import CMicrohttpd
import CConnections

/// An HTTP response in the form of the library libmicrohttpd.
struct Message {
    let pointer: OpaquePointer

    /// Makes libmicrohttpd's form of an HTTP response. Returns `nil` if there is no memory, or if nothing should be
    /// sent.
    init?(_ response: Response, on transaction: HTTPTransaction, _ watch: Watch?) {
        let made: OpaquePointer?
        switch response.delivery {
        case .dropped: return nil
        case .whole:
            made = Message.copy(response.body)
        case .cut:
            // Even an empty body can be cut: one byte is announced and not sent.
            made = Message.read(
                by: BodyReader(.cut(Array(response.body.prefix(response.body.count / 2))), transaction, watch),
                size: UInt64(max(1, response.body.count)))
        case .stream(let stream):
            made = Message.read(by: BodyReader(.stream(stream), transaction, watch), size: understudy_unknown_size)
        }
        self.init(made, response)
    }

    init?(_ response: Response) { self.init(Message.copy(response.body), response) }

    private init?(_ made: OpaquePointer?, _ response: Response) {
        guard let made else { return nil }
        pointer = made
        // libmicrohttpd refuses an empty value; whitespace around a value has no meaning (RFC 9110 section 5.5).
        for header in response.headers { add(header.name, header.value.isEmpty ? " " : header.value) }
    }

    func add(_ name: String, _ value: String) {
        // `withCString` copies neither text; passing them as arguments would.
        _ = name.withCString { name in value.withCString { value in MHD_add_response_header(pointer, name, value) } }
    }

    func queue(on connection: OpaquePointer?, status: Int) -> MHD_Result {
        understudy_queue_answer(connection, UInt32(clamping: status), pointer) == 1 ? .YES : .NO
    }

    /// Releases a response of libmicrohttpd. The library keeps a queued response as long as it needs it.
    func release() { MHD_destroy_response(pointer) }

    private static func copy(_ body: [UInt8]) -> OpaquePointer? {
        body.withUnsafeBytes {
            MHD_create_response_from_buffer(
                $0.count, UnsafeMutableRawPointer(mutating: $0.baseAddress), .RESPMEM_MUST_COPY)
        }
    }

    private static func read(by reader: BodyReader, size: UInt64) -> OpaquePointer? {
        let context = Unmanaged.passRetained(reader).toOpaque()
        let made = MHD_create_response_from_callback(size, 16 << 10, readCallback, context, releaseReaderCallback)
        if made == nil { releaseReaderCallback(context: context) }
        return made
    }
}

/// Passes the body of a response to libmicrohttpd in pieces.
final class BodyReader: @unchecked Sendable {
    enum Source {
        /// The response's body consists of these bytes, after which the connection ends abruptly.
        case cut([UInt8])
        case stream(EventStream)
    }

    private let source: Source
    private let connection: OpaquePointer?
    private let descriptor: Int32
    private let watch: Watch?

    init(_ source: Source, _ transaction: HTTPTransaction, _ watch: Watch?) {
        self.source = source
        self.watch = watch
        connection = transaction.pointer
        descriptor = transaction.connection.descriptor
    }

    /// Copies the next bytes of a response's body into libmicrohttpd's buffer. The connection's own worker thread calls
    /// this.
    func read(at position: UInt64, into buffer: UnsafeMutablePointer<CChar>, upTo limit: Int) -> Int {
        switch source {
        case .cut(let bytes):
            let rest = bytes.dropFirst(Int(clamping: position))
            return rest.isEmpty ? understudy_end_with_error : BodyReader.copy(rest.prefix(limit), to: buffer)
        case .stream(let stream):
            nonisolated(unsafe) let connection = connection
            let (descriptor, watch) = (descriptor, watch)
            let part = stream.read(
                upTo: limit,
                suspend: {
                    MHD_suspend_connection(connection)
                    watch?.watch(descriptor) { [weak stream] in stream?.end() }
                },
                wake: {
                    watch?.forget(descriptor)
                    MHD_resume_connection(connection)
                })
            switch part {
            case .bytes(let bytes): return BodyReader.copy(bytes[...], to: buffer)
            case .end: return understudy_end_of_stream
            case .nothing: return 0
            }
        }
    }

    private static func copy(_ bytes: ArraySlice<UInt8>, to buffer: UnsafeMutablePointer<CChar>) -> Int {
        bytes.withUnsafeBytes { bytes in
            UnsafeMutableRawPointer(buffer).copyMemory(
                from: bytes.baseAddress ?? UnsafeRawPointer(buffer), byteCount: bytes.count)
        }
        return bytes.count
    }
}
