import Control
import EmulatorCore
import HTTPClient
import JSON

/// Calls the control API of a running daemon, for the commands of the command line.
package struct DaemonClient: Sendable {
    /// The URL at which commands look for the daemon if none is given.
    package static let defaultURL = "http://localhost:9099"
    package static let seconds = 120

    private let daemon: String
    /// The URL of the daemon's test world, without a slash at the end.
    package let base: String
    /// The name of the test world to which calls go; `nil` if the daemon's URL already names the world, or for the
    /// default world.
    package let world: String?
    private let token: String?
    /// The seconds that the daemon's answer may take.
    private let seconds: Int

    /// Makes a client of a running daemon's control API. `url` is the address of the daemon or of one of its test
    /// worlds; `token` is its control token, if it has one.
    package init(url: String, world: String? = nil, token: String?, seconds: Int = DaemonClient.seconds) {
        let place = String(url[..<(url.lastIndex { $0 != "/" }.map { url.index(after: $0) } ?? url.startIndex)])
        daemon = place
        base = place + (world.map { "/~\($0)" } ?? "")
        self.world = world
        self.token = token
        self.seconds = seconds
    }

    /// Calls the control API, and returns the answer's body. If the daemon refuses the request's body and names the
    /// wrong part, the error message begins with `source`, the name of the body's file.
    ///
    /// - Throws: ``StartError``, with a line that says what the daemon refused, or why it can't be reached.
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

    /// Calls the control API, and returns the answer, whatever its status. `path` may have a query.
    ///
    /// - Throws: An error if the daemon can't be reached.
    package func ask(
        _ method: String, _ path: String, body: [UInt8] = []
    ) throws(OutgoingRequest.Failure) -> OutgoingRequest.Answer {
        try ask(method, path, at: base, body: body)
    }

    private func ask(
        _ method: String, _ path: String, at base: String, body: [UInt8]
    ) throws(OutgoingRequest.Failure) -> OutgoingRequest.Answer {
        // The daemon refuses calls with the `User-Agent` that it uses for its own requests to apps' servers, so this is
        // another one.
        var headers = [(name: "User-Agent", value: "understudy/\(Version.current)")]
        if let token { headers.append((name: "Authorization", value: "Bearer \(token)")) }
        return try OutgoingRequest.send(
            method, to: "\(base)\(ControlAPI.root)/\(path)", contentType: body.isEmpty ? nil : "application/json",
            headers: headers, body: body, seconds: seconds, limit: WorldSnapshot.sizeLimit + (1 << 16))
    }

    /// Lists the names of the daemon's test worlds. This call creates none.
    package func worlds() throws(StartError) -> [String] {
        let answer = try call("GET", "worlds", at: daemon)
        let worlds = (try? JSONValue(parsing: answer, limits: .answer))?["worlds"]?.array ?? []
        return worlds.compactMap { $0["name"]?.string }
    }
}
