import JSON
import ModelContextProtocol

/// Reads a world's recording, and puts it in few words.
struct RecordingReader {
    let daemon: DaemonAccess
    let world: String?

    /// How many exchanges are looked at.
    private static let looked = 200
    /// How many answers are read: one holds 2 MB of bodies at most.
    private static let pageLimit = 30
    /// How long one request waits, so that a call that is cancelled ends soon.
    private static let slice = Duration.seconds(1)

    /// The latest exchanges that fit or, with `after`, the next ones, the oldest first. With `wait`, it waits until there are some.
    func exchanges(
        _ criteria: [(String, String?)], after: String?, wait: Duration, _ call: ToolCall
    ) throws(ToolFailure) -> [JSONValue] {
        let end = ContinuousClock.now + wait
        var found = try pages(criteria, after: after)
        while found.isEmpty, !call.shouldEnd {
            let left = end - .now
            guard left > .zero else { break }
            let milliseconds = min(left, RecordingReader.slice) / .milliseconds(1)
            let query = criteria + [("after", after), ("wait", "\(max(1, Int(milliseconds)))ms"), ("limit", "1")]
            let answer = try daemon.call("GET", "requests", query: query, about: .world(world))
            if !(try DaemonAccess.list("requests", in: answer)).isEmpty { found = try pages(criteria, after: after) }
        }
        return found
    }

    func pages(_ criteria: [(String, String?)], after: String?) throws(ToolFailure) -> [JSONValue] {
        var (found, place) = ([JSONValue](), after)
        for _ in 0..<RecordingReader.pageLimit {
            let query = criteria + [("after", place), ("limit", String(RecordingReader.looked))]
            let answer = try daemon.call("GET", "requests", query: query, about: .world(world))
            found += try DaemonAccess.list("requests", in: answer)
            guard answer["more"]?.bool ?? false, found.count < RecordingReader.looked else { break }
            place = answer["last"]?.string
        }
        return found
    }
}
