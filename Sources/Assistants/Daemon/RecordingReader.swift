import JSON
import ModelContextProtocol
import Time

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
    private static let stepLimit = 40

    /// The latest exchanges that fit or, with `after`, the next ones, the oldest first. With `wait`, it waits until there are some.
    func exchanges(
        _ criteria: [(String, String?)], after: String?, wait: TimeSpan?, _ call: ToolCall
    ) throws(ToolFailure) -> [JSONValue] {
        let end = ContinuousClock.now + (wait?.duration ?? .zero)
        var found = try pages(criteria, after: after)
        while found.isEmpty, !call.shouldEnd {
            let left = end - .now
            guard left > .zero else { break }
            let milliseconds = min(left, RecordingReader.slice) / .milliseconds(1)
            let query = criteria + [("after", after), ("wait", "\(max(1, Int(milliseconds)))ms"), ("limit", "1")]
            let answer = try daemon.call("GET", "requests", query: query, about: .world(world))
            if !(answer["requests"]?.array ?? []).isEmpty { found = try pages(criteria, after: after) }
        }
        return found
    }

    private func pages(_ criteria: [(String, String?)], after: String?) throws(ToolFailure) -> [JSONValue] {
        var (found, place) = ([JSONValue](), after)
        for _ in 0..<RecordingReader.pageLimit {
            let query = criteria + [("after", place), ("limit", String(RecordingReader.looked))]
            let answer = try daemon.call("GET", "requests", query: query, about: .world(world))
            found += answer["requests"]?.array ?? []
            guard answer["more"]?.bool ?? false, found.count < RecordingReader.looked else { break }
            place = answer["last"]?.string
        }
        return found
    }

    /// The steps of the sign-in whose first exchange has this ID.
    func signIn(_ flow: String) throws(ToolFailure) -> JSONValue {
        let steps = try pages([("flow", flow)], after: nil)
        var object = JSONObject([("flow", .string(flow))])
        object["client"] = steps.lazy.compactMap { $0["client"]?.string }.first.map {
            .string(AnswerSize.cut($0, to: 200))
        }
        object["refusals"] = .integer(Int64(steps.count { $0["diagnosis"] != nil }))
        object["steps"] = .array(steps.suffix(RecordingReader.stepLimit).map(RecordingReader.step))
        if steps.count > RecordingReader.stepLimit {
            object["earlierSteps"] = .integer(Int64(steps.count - RecordingReader.stepLimit))
        }
        return .object(object)
    }

    /// An exchange without its texts, but for what a refusal said.
    private static func step(_ exchange: JSONValue) -> JSONValue {
        var step = JSONObject()
        for name in ["id", "parent", "time"] { step[name] = exchange[name] }
        let place = (exchange["host"]?.string ?? "") + (exchange["path"]?.string ?? "")
        step["request"] = .string("\(exchange["method"]?.string ?? "") \(AnswerSize.cut(place, to: 300))")
        step["status"] = exchange["status"]
        for name in ["diagnosis", "fault"] {
            step[name] = exchange[name]?.string.map { .string(AnswerSize.cut($0, to: 800)) }
        }
        guard exchange["diagnosis"] != nil else { return .object(step) }
        let headers = exchange["response"]?["headers"]?.array ?? []
        func header(_ name: String) -> String? {
            headers.first { $0["name"]?.string?.lowercased() == name }?["value"]?.string
        }
        if let location = header("location") {
            step["redirect"] = .string(AnswerSize.cut(location, to: 400))
        } else if let body = exchange["response"]?["body"]?.string,
            !(header("content-type") ?? "").hasPrefix("text/html")
        {
            step["answer"] = .string(AnswerSize.cut(body, to: 400))
        }
        return .object(step)
    }
}
