import Control
import EmulatorCore
import HTTPClient
import JSON

/// Calls of a running daemon's control API, for commands.
package struct DaemonClient: Sendable {
    /// Where a daemon is that nobody named.
    package static let defaultURL = "http://localhost:9099"
    private static let seconds = 120

    private let daemon: String
    /// The address of the world that is asked, without a slash at the end.
    package let base: String
    /// The world's name; `nil` is the daemon's default one, or the one that the address names.
    package let world: String?
    private let token: String?

    /// `url` is the daemon's, or one of its worlds'; `token` is its control token, if it has one.
    package init(url: String, world: String? = nil, token: String?) {
        let place = String(url[..<(url.lastIndex { $0 != "/" }.map { url.index(after: $0) } ?? url.startIndex)])
        daemon = place
        base = place + (world.map { "/~\($0)" } ?? "")
        self.world = world
        self.token = token
    }

    /// - Throws: ``StartError`` that says in a line what the daemon refused, or why it isn't reached.
    /// `source` is what a refusal that says a place in the body begins with: a file's name.
    @discardableResult
    package func call(
        _ method: String, _ path: String, body: [UInt8] = [], from source: String? = nil
    ) throws(StartError) -> [UInt8] {
        try call(method, path, at: base, body: body, from: source)
    }

    private func call(
        _ method: String, _ path: String, at base: String, body: [UInt8] = [], from source: String? = nil
    ) throws(StartError) -> [UInt8] {
        let answer: OutgoingRequest.Answer
        do throws(OutgoingRequest.Failure) { answer = try ask(method, path, at: base, body: body) } catch {
            throw StartError(description: "\(base): \(error.description)")
        }
        guard (200..<300).contains(answer.status) else {
            let error = (try? JSONValue(parsing: answer.body, limits: .answer))?["error"]
            let message = error?["message"]?.string ?? "answered \(answer.status)"
            guard let place = error?["path"]?.string else { throw StartError(description: "\(base): \(message)") }
            throw StartError(description: "\(source ?? base): \(place): \(message)")
        }
        return answer.body
    }

    /// What the daemon answers, whatever it is. `path` may have a query.
    ///
    /// - Throws: why it isn't reached.
    package func ask(
        _ method: String, _ path: String, body: [UInt8] = []
    ) throws(OutgoingRequest.Failure) -> OutgoingRequest.Answer {
        try ask(method, path, at: base, body: body)
    }

    private func ask(
        _ method: String, _ path: String, at base: String, body: [UInt8]
    ) throws(OutgoingRequest.Failure) -> OutgoingRequest.Answer {
        // The daemon refuses calls from what it sends to apps' servers, whose name is another.
        var headers = [(name: "User-Agent", value: "understudy/\(Version.current)")]
        if let token { headers.append((name: "Authorization", value: "Bearer \(token)")) }
        return try OutgoingRequest.send(
            method, to: "\(base)\(ControlAPI.root)/\(path)", contentType: body.isEmpty ? nil : "application/json",
            headers: headers, body: body, seconds: DaemonClient.seconds, limit: WorldSnapshot.sizeLimit + (1 << 16))
    }

    /// The names of the worlds that there are. Asking makes none.
    package func worlds() throws(StartError) -> [String] {
        let answer = try call("GET", "worlds", at: daemon)
        let worlds = (try? JSONValue(parsing: answer, limits: .answer))?["worlds"]?.array ?? []
        return worlds.compactMap { $0["name"]?.string }
    }
}
