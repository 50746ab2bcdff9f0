import HTTPServer
import JOSE
import EmulatorCore

extension FuzzTarget {
    /// Sends requests one after the other. The input is a readable script:
    ///
    ///     POST /appleid.apple.com/auth/token
    ///     Content-Type: application/x-www-form-urlencoded
    ///
    ///     client_id=com.example.web&client_secret=$secret&code=$code
    ///     %%
    ///     GET …
    ///
    /// `$code` and similar words stand for values from earlier answers (``Variables``). `${600*a}` stands for 600 times
    /// `a`.
    static let http = FuzzTarget("http", maximumLength: 8192, mutate: { ScriptMutation.mutate($0, &$1) }) { bytes in
        let daemon = try FuzzDaemon.shared
        try daemon.reset()
        var variables = Variables(secret: try daemon.clientSecret(), signs: daemon.signed)
        for part in Script(bytes).parts.prefix(24) {
            guard let request = part.request(variables) else { continue }
            guard let response = try daemon.send(request) else { continue }
            variables.learn(from: response)
        }
    }
}

/// The requests of an input.
struct Script {
    static let separator = Array("\n%%\n".utf8)

    struct Part {
        var bytes: [UInt8]

        /// Makes the request. Returns `nil` if the part has no method and path, or if the request asks the daemon to
        /// wait.
        func request(_ variables: Variables) -> Request? {
            let filled = variables.filled(bytes)
            let end = filled.firstRange(of: Array("\n\n".utf8))
            let head = String(decoding: filled[..<(end?.lowerBound ?? filled.endIndex)], as: UTF8.self)
            var lines = head.split(separator: "\n").map(String.init)
            guard !lines.isEmpty else { return nil }
            let words = lines.removeFirst().split(separator: " ", maxSplits: 1).map(String.init)
            guard words.count == 2 else { return nil }
            var headers = lines.compactMap { line -> (name: String, value: String)? in
                guard let colon = line.firstIndex(of: ":"), colon != line.startIndex else { return nil }
                return (
                    name: String(line[..<colon]), value: String(line[line.index(after: colon)...].drop { $0 == " " })
                )
            }
            // Requests for event streams are left out, since a stream never ends.
            headers.removeAll { $0.value.contains("event-stream") }
            if !headers.contains(where: { $0.name.lowercased() == "host" }) {
                headers.append((name: "Host", value: FuzzDaemon.authority))
            }
            if !headers.contains(where: { $0.name.lowercased() == "user-agent" }) {
                // GitHub refuses requests without a User-Agent header.
                headers.append((name: "User-Agent", value: "fuzz"))
            }
            let body = end.map { Array(filled[$0.upperBound...].prefix(1 << 20)) } ?? []
            var request = Request(method: words[0], target: words[1], headers: headers, body: body)
            guard !(request.query?.contains("wait") ?? false) else { return nil }
            if request.path.hasSuffix("/faults"), let value = request.jsonBody {
                request.body = OrderTarget.withoutDelay(value).serialized()
            }
            return request
        }
    }

    var parts: [Part]

    init(_ bytes: [UInt8]) {
        var parts: [Part] = []
        var rest = bytes[...]
        while let mark = rest.firstRange(of: Script.separator) {
            parts.append(Part(bytes: Array(rest[..<mark.lowerBound])))
            rest = rest[mark.upperBound...]
        }
        parts.append(Part(bytes: Array(rest)))
        self.parts = parts
    }

    init(parts: [Part]) { self.parts = parts }

    var bytes: [UInt8] { Array(parts.map(\.bytes).joined(separator: Script.separator)) }
}
