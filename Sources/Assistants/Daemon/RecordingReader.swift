import JSON
import ModelContextProtocol

/// Reads a world's recording and shortens it.
struct RecordingReader {
    let daemon: DaemonAccess
    let world: String?

    /// The most exchanges that are examined.
    private static let looked = 200
    /// The most pages that are read. Each has 2 MB of bodies at most.
    private static let pageLimit = 30
    /// The time that a single request waits. It is short, so that a cancelled call ends soon.
    private static let slice = Duration.seconds(1)

    /// Returns the latest exchanges that meet the criteria or, with `after`, the next ones; the oldest first. With
    /// `wait`, it waits until there are some.
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
