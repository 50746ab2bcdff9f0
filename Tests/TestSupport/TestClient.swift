import Foundation
import Platform
import Testing

/// An HTTP answer as it was received.
package struct Answer: Sendable, CustomStringConvertible {
    package let status: Int
    package let headers: [(name: String, value: String)]
    package let body: [UInt8]

    package func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    package var text: String { String(decoding: body, as: UTF8.self) }
    package var diagnosis: String { header("Understudy-Diagnosis") ?? "" }
    package var note: String { header("Understudy-Note") ?? "" }
    package var location: String { header("Location") ?? "" }

    /// Whether the daemon refuses a request without a reason. Every answer in every test is checked.
    package var isUnexplained: Bool {
        guard header("Understudy-Request") != nil, diagnosis.isEmpty else { return false }
        let parameters = redirect
        // A device that polls before the person has decided isn't refused.
        if !note.isEmpty,
            self["error"] ?? parameters["error"] ?? Answer.fields(text)["error"] == "authorization_pending"
        {
            return false
        }
        return status >= 400 || parameters["error"] != nil
            || (self["error"] != nil && self["error_description"] != nil)
    }

    /// The body as JSON.
    package var json: [String: Any] {
        (try? JSONSerialization.jsonObject(with: Data(body)) as? [String: Any]) ?? [:]
    }

    package subscript(key: String) -> String? { json[key] as? String }

    package var description: String { "\(status) \(headers) \(text)" }

    /// The parameters of a redirect, from its query or its fragment.
    package var redirect: [String: String] {
        let mark = location.firstIndex { $0 == "?" || $0 == "#" } ?? location.endIndex
        return Answer.fields(String(location[mark...].dropFirst()))
    }

    package static func fields(_ encoded: String) -> [String: String] {
        var fields: [String: String] = [:]
        for pair in encoded.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            fields[String(parts[0])] =
                (parts.count > 1 ? String(parts[1]) : "").replacingOccurrences(of: "+", with: " ")
                .removingPercentEncoding
        }
        return fields
    }

    /// The hidden inputs of a page's form, with entities resolved.
    package var inputs: [String: String] {
        var inputs: [String: String] = [:]
        for tag in text.components(separatedBy: "<input ").dropFirst() where tag.contains("type=\"hidden\"") {
            inputs[Answer.attribute("name", of: tag)] = Answer.attribute("value", of: tag)
        }
        return inputs
    }

    package static func attribute(_ name: String, of tag: String) -> String {
        guard let start = tag.range(of: "\(name)=\"") else { return "" }
        let value = tag[start.upperBound...].prefix { $0 != "\"" }
        return [
            ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&#13;", "\r"), ("&#10;", "\n"),
            ("&amp;", "&"),
        ]
        .reduce(String(value)) { $0.replacingOccurrences(of: $1.0, with: $1.1) }
    }
}

package struct TransportError: Error {
    package init(reason: String) { self.reason = reason }

    package let reason: String
}

/// A plain socket for HTTP, with which tests can send what no client library would.
package final class Wire {
    private let descriptor: Int32
    private var received: [UInt8] = []
    /// Whether a read has timed out.
    private var hasTimedOut = false

    package init(port: Int, host: String = "127.0.0.1", timeoutSeconds: Int = patienceSeconds) throws {
        let isV6 = host.contains(":")
        descriptor = understudy_socket(isV6 ? AF_INET6 : AF_INET, understudy_stream, 0)
        understudy_limit(descriptor, SO_RCVTIMEO, timeoutSeconds, 0)
        let result: Int32
        if isV6 {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = UInt16(port).bigEndian
            inet_pton(AF_INET6, host, &address.sin6_addr)
            result = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in6>.size))
                }
            }
        } else {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = UInt16(port).bigEndian
            inet_pton(AF_INET, host, &address.sin_addr)
            result = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        }
        guard result == 0 else { throw TransportError(reason: String(cString: strerror(errno))) }
    }

    deinit { close(descriptor) }

    /// Sends a GET, and doesn't wait for the answer.
    package static func asking(port: Int, _ path: String) -> Wire? {
        guard let wire = try? Wire(port: port) else { return nil }
        wire.send("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return wire
    }

    package func send(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Platform.send(descriptor, $0.baseAddress, $0.count, understudy_no_signal)
            }
            if count <= 0 { return }
            rest = rest.dropFirst(count)
        }
    }

    package func send(_ text: String) { send(Array(text.utf8)) }

    /// Reads more bytes. Returns `false` at the end.
    private func fill() -> Bool {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        if count < 0, errno == EAGAIN || errno == EWOULDBLOCK { hasTimedOut = true }
        guard count > 0 else { return false }
        received += buffer.prefix(count)
        return true
    }

    /// Returns the next line without its end; `nil` if the connection closes before.
    package func nextLine() -> String? {
        while true {
            if let end = received.firstIndex(of: 0x0A) {
                defer { received.removeFirst(end + 1) }
                return String(decoding: received[..<end].filter { $0 != 0x0D }, as: UTF8.self)
            }
            guard fill() else { return nil }
        }
    }

    /// Closes the sending half.
    package func finishSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Returns everything until the connection closes.
    package func rest() -> [UInt8] {
        while fill() {}
        defer { received = [] }
        return received
    }

    /// Returns a chunked body, to its end. Reads the header first if it is still to come.
    package func chunks() throws -> String {
        var body = ""
        while let chunk = try chunk() { body += chunk }
        return body
    }

    /// Returns the next chunk of a chunked body; `nil` at its end.
    package func chunk() throws -> String? {
        if received.isEmpty, !fill() { throw TransportError(reason: "connection closed between chunks") }
        if received.starts(with: Array("HTTP/".utf8)) { _ = try receive(toHEAD: true) }
        let size = Int(try line(), radix: 16) ?? 0
        while received.count < size + 2 {
            guard fill() else { throw TransportError(reason: "connection closed inside a chunk") }
        }
        defer { received.removeFirst(size + 2) }
        return size == 0 ? nil : String(decoding: received.prefix(size), as: UTF8.self)
    }

    private func line() throws -> String {
        while true {
            if let end = received.firstOffset(of: "\r\n") {
                defer { received.removeSubrange(..<(end + 2)) }
                return String(decoding: received[..<end], as: UTF8.self)
            }
            guard fill() else { throw TransportError(reason: "connection closed inside a line") }
        }
    }

    package var isClosed: Bool { received.isEmpty && !fill() && !hasTimedOut }

    /// Whether the connection closes, after everything has been read.
    package var closes: Bool {
        _ = rest()
        return !hasTimedOut
    }

    /// Returns the next answer on the connection.
    package func receive(toHEAD: Bool = false) throws -> Answer {
        var end = received.firstOffset(of: "\r\n\r\n")
        while end == nil {
            guard fill() else { throw TransportError(reason: "connection closed after \(received.count) bytes") }
            end = received.firstOffset(of: "\r\n\r\n")
        }
        guard let end else { throw TransportError(reason: "no header") }
        let lines = String(decoding: received[..<end], as: UTF8.self).components(separatedBy: "\r\n")
        received.removeSubrange(..<(end + 4))
        let headers = lines.dropFirst().map { line -> (name: String, value: String) in
            let parts = line.split(separator: ":", maxSplits: 1)
            return (name: String(parts[0]), value: parts.count > 1 ? parts[1].trimmingCharacters(in: .whitespaces) : "")
        }
        let status = Int(lines[0].split(separator: " ").dropFirst().first ?? "") ?? 0
        if status == 100 { return try receive(toHEAD: toHEAD) }
        let length = headers.first { $0.name.lowercased() == "content-length" }.flatMap { Int($0.value) } ?? 0
        let expected = toHEAD || status == 204 || status == 304 ? 0 : length
        while received.count < expected {
            guard fill() else { throw TransportError(reason: "connection closed inside a body") }
        }
        let body = Array(received.prefix(expected))
        received.removeFirst(expected)
        return Answer(status: status, headers: headers, body: body)
    }
}

extension [UInt8] {
    /// Returns the offset of the first occurrence of `text`. Foundation searches, because unoptimized generic code is
    /// slow.
    fileprivate func firstOffset(of text: String) -> Int? { Data(self).range(of: Data(text.utf8))?.lowerBound }
}

/// A client of one server.
package struct TestClient: Sendable {
    package let port: Int
    package var host = "localhost"

    package init(port: Int) { self.port = port }

    package func request(
        _ method: String, _ path: String, headers: [String: String] = [:], body: [UInt8] = []
    ) throws -> Answer {
        let wire = try Wire(port: port)
        var head = "\(method) \(path) HTTP/1.1\r\n"
        if headers["Host"] == nil { head += "Host: \(host):\(port)\r\n" }
        for (name, value) in headers { head += "\(name): \(value)\r\n" }
        if !body.isEmpty || method == "POST" { head += "Content-Length: \(body.count)\r\n" }
        wire.send(Array((head + "Connection: close\r\n\r\n").utf8) + body)
        let answer = try wire.receive(toHEAD: method == "HEAD")
        if answer.isUnexplained { Issue.record("no diagnosis: \(method) \(path): \(answer)") }
        if answer.header("Understudy-Evidence") == "none" {
            Issue.record("no evidence: \(method) \(path): \(answer)")
        }
        return answer
    }

    package func get(_ path: String, headers: [String: String] = [:]) throws -> Answer {
        try request("GET", path, headers: headers)
    }

    package func post(
        _ path: String, form: [String: String], headers: [String: String] = [:]
    ) throws -> Answer {
        let type = ["Content-Type": "application/x-www-form-urlencoded"].merging(headers) { $1 }
        return try request("POST", path, headers: type, body: Array(TestClient.encode(form).utf8))
    }

    package func post(
        _ path: String, json: Any, method: String = "POST", headers: [String: String] = [:]
    ) throws -> Answer {
        let data = try JSONSerialization.data(withJSONObject: json, options: [.fragmentsAllowed])
        let type = ["Content-Type": "application/json"].merging(headers) { $1 }
        return try request(method, path, headers: type, body: Array(data))
    }

    package static func encode(_ form: [String: String]) -> String {
        form.sorted { $0.key < $1.key }.map { "\(escape($0.key))=\(escape($0.value))" }.joined(separator: "&")
    }

    private static let unescaped = CharacterSet.alphanumerics

    package static func escape(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: unescaped) ?? text
    }
}
