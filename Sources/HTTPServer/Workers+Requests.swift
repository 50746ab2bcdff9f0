import CMicrohttpd
import CConnections
import Synchronization

extension Workers {
    /// Receives the header of a request, a part of its body, or the end of the body, from the HTTP library
    /// libmicrohttpd.
    func receive(
        _ transaction: HTTPTransaction, method: String, data: UnsafePointer<CChar>?, size: inout Int
    ) -> MHD_Result {
        guard transaction.isStarted else {
            transaction.isStarted = true
            transaction.bodyLimit = options.bodyLimitBytesOf(method, transaction.target) ?? options.bodyLimitBytes
            return admit(transaction)
        }
        if size > 0, let data {
            defer { size = 0 }
            return read(UnsafeRawBufferPointer(start: data, count: size), of: transaction)
        }
        // The answer has already been sent.
        if transaction.isRefused { return .NO }
        if let response = transaction.response { return send(response, on: transaction) }
        if transaction.isWaiting { return .YES }
        if transaction.discarded > 0 {
            return send(transaction.hadNoRoom ? noRoom(transaction) : tooLarge(transaction), on: transaction)
        }
        return answer(transaction, method)
    }

    private func read(_ part: UnsafeRawBufferPointer, of transaction: HTTPTransaction) -> MHD_Result {
        let isShort = transaction.body.count + part.count <= transaction.bodyLimit
        if transaction.discarded == 0, !transaction.isRefused, isShort {
            if gate.received(part.count, on: transaction.connection) {
                transaction.body.append(contentsOf: part)
                return .YES
            }
            transaction.hadNoRoom = true
        }
        // libmicrohttpd accepts an answer only before the body or after it, so the rest of the body is read, up to a
        // limit.
        transaction.discarded += part.count
        transaction.body = []
        gate.dropBody(of: transaction.connection)
        return transaction.discarded > options.bodyLimitBytes * 16 ? .NO : .YES
    }

    private func answer(_ transaction: HTTPTransaction, _ method: String) -> MHD_Result {
        guard gate.working(on: transaction.connection) else { return .NO }
        let body = transaction.body
        let headers = transaction.headers ?? Workers.headers(of: transaction.pointer)
        transaction.body = []
        transaction.headers = nil
        let request = Request(
            method: method, target: transaction.target, headers: headers, body: body, isSecure: secrets != nil,
            label: transaction.connection.label, isFromLoopback: transaction.connection.isFromLoopback)
        switch handler(request) {
        case .now(let response):
            return send(response, on: transaction)
        case .later(let start):
            guard gate.hold(transaction.connection) else { return send(tooManyWait(transaction), on: transaction) }
            guard suspensions.begin(transaction) else {
                return send(refuse(503, Workers.stopping, transaction.target), on: transaction)
            }
            start(transaction.suspend())
            return .YES
        }
    }

    func finished(_ transaction: HTTPTransaction) {
        suspensions.end(transaction)
        if let stream = transaction.stream {
            streams.withLock { $0[ObjectIdentifier(transaction)] = nil }
            stream.close()
        }
        gate.completed(transaction.connection, wasAbandoned: transaction.wasAbandoned)
        inFlight.subtract(1, ordering: .relaxed)
    }

    // MARK: - Refusals

    private func tooLarge(_ transaction: HTTPTransaction) -> Response {
        refuse(413, "the request's body is larger than \(transaction.bodyLimit) bytes", transaction.target)
    }

    private func noRoom(_ transaction: HTTPTransaction) -> Response {
        refuse(
            503, "the bodies of requests take \(gate.limits.bodyBytes) bytes together already; try again",
            transaction.target)
    }

    private func tooManyWait(_ transaction: HTTPTransaction) -> Response {
        refuse(
            503,
            "\(gate.limits.held) connections wait for delayed answers already, of \(gate.limits.connections) in all",
            transaction.target)
    }

    func refuse(_ status: Int, _ reason: String, _ target: String? = nil) -> Response {
        options.refusal(status, reason, target)
    }

    /// Refuses a request whose header is invalid, too long, or announces too long a body, before the body is read.
    private func admit(_ transaction: HTTPTransaction) -> MHD_Result {
        let headers = Workers.headers(of: transaction.pointer)
        var bytes = transaction.target.utf8.count
        for header in headers { bytes += header.name.utf8.count + header.value.utf8.count + 4 }
        if bytes > options.headerLimitBytes {
            let refusal = refuse(
                431, "the request's header is larger than \(options.headerLimitBytes) bytes", transaction.target)
            return send(refusal, on: transaction)
        }
        let framing = Framing(headers, needsHost: transaction.needsHost)
        if let issue = framing.issue { return send(refuse(400, issue, transaction.target), on: transaction) }
        if framing.declaredLength > transaction.bodyLimit { return refuseBody(transaction, framing) }
        if !framing.announcesBody { transaction.headers = headers }
        return .YES
    }

    /// Refuses a request whose announced body is too large. Most clients send the body all the same, and would find a
    /// closed connection before they look for the answer. So the answer is sent first, and the body is read and
    /// discarded, up to a limit.
    private func refuseBody(_ transaction: HTTPTransaction, _ framing: Framing) -> MHD_Result {
        let refusal = tooLarge(transaction)
        guard !framing.expectsContinue, framing.declaredLength <= options.bodyLimitBytes * 16 else {
            return send(refusal, on: transaction)
        }
        let bytes = MicrohttpdRefusal.bytes(of: refusal)
        let descriptor = bytes.withUnsafeBytes { understudy_send_ahead(transaction.pointer, $0.baseAddress, $0.count) }
        guard descriptor >= 0 else { return .NO }
        transaction.isRefused = true
        return .YES
    }

    // MARK: - Answers

    func send(_ response: Response, on transaction: HTTPTransaction) -> MHD_Result {
        var response = response
        if case .stream(let stream) = response.delivery {
            if gate.hold(transaction.connection) {
                transaction.stream = stream
                streams.withLock { $0[ObjectIdentifier(transaction)] = stream }
                if isStopping.load(ordering: .relaxed) { stream.end() }
            } else {
                stream.close()
                response = tooManyWait(transaction)
            }
        }
        guard let message = Message(response, on: transaction, watch) else { return .NO }
        defer { message.release() }
        if isStopping.load(ordering: .relaxed) || isEnding.load(ordering: .relaxed) {
            message.add("Connection", "close")
        }
        if transaction.stream == nil { gate.answering(on: transaction.connection, response.body.count) }
        return message.queue(on: transaction.pointer, status: response.status)
    }

    private static func headers(of connection: OpaquePointer?) -> [(name: String, value: String)] {
        var headers: [(name: String, value: String)] = []
        headers.reserveCapacity(8)
        withUnsafeMutablePointer(to: &headers) { pointer in
            _ = MHD_get_connection_values(connection, .HEADER_KIND, collectHeader, pointer)
        }
        return headers
    }
}
