import ArgumentParser
import JSON
import Logging
import Platform
import Time

enum LogFormat: String, ExpressibleByArgument, CaseIterable {
    case text
    case json

    private static let label = "understudy"

    /// Returns a logger that writes to `writer`. Dropped log lines are reported in the same format.
    func logger(level: Logger.Level, to writer: LineWriter) -> Logger {
        var logger = Logger(label: LogFormat.label) { handler($0, writer) }
        logger.logLevel = level
        let format = self
        writer.reportDropped { count in
            let lines = DroppedLines(count: count)
            return switch format {
            case .text: "understudy: \(lines.message)"
            case .json: JSONLogHandler.line(.warning, lines.message, ["dropped": "\(count)"])
            }
        }
        return logger
    }

    private func handler(_ label: String, _ writer: LineWriter) -> any LogHandler {
        switch self {
        case .text: StreamLogHandler(label: label, stream: LineStream(writer: writer))
        case .json: JSONLogHandler(writer: writer)
        }
    }
}

/// The log line that says how many lines of the log were dropped.
private struct DroppedLines {
    let count: Int

    var message: String {
        "\(count) log \(count == 1 ? "line was" : "lines were") dropped here: the output couldn't be written, or wasn't read in time"
    }
}

struct JSONLogHandler: LogHandler {
    let writer: LineWriter
    var logLevel = Logger.Level.info
    var metadata = Logger.Metadata()

    init(writer: LineWriter) { self.writer = writer }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { _, new in new }
        writer.write(JSONLogHandler.line(event.level, "\(event.message)", all))
    }

    /// Returns a log line in JSON. Its `time` is the machine's, in RFC 3339 with milliseconds.
    static func line(_ level: Logger.Level, _ message: String, _ metadata: Logger.Metadata) -> String {
        let time = "\(Instant.text(microseconds: MachineClock.microseconds).dropLast(4))Z"
        var line = JSONObject([
            ("level", .string(level.rawValue)), ("message", .string(message)), ("time", .string(time)),
        ])
        for (key, value) in metadata.sorted(by: { $0.key < $1.key }) { line[key] = .string("\(value)") }
        return JSONValue.object(line).text
    }
}

/// Writes the daemon's log to a file, because the command that `understudy exec` runs uses standard error.
struct LogFile {
    /// A copy of this process's original standard error.
    let own: Int32
    let path: String?
    private let descriptor: Int32
    private let isTemporary: Bool

    /// Opens the log file at `path`, or a temporary log file if `path` is `nil`.
    init(at path: String?, watcher: Watcher?) throws {
        own = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)
        isTemporary = path == nil
        if let path {
            descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
            self.path = path
        } else {
            let directory = Environment.variable("TMPDIR") ?? "/tmp"
            var template = Array("\(directory)/understudy-log-XXXXXX".utf8CString)
            descriptor = mkstemp(&template)
            if descriptor >= 0 { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
            self.path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
        guard descriptor >= 0 else {
            let reason = String(cString: strerror(errno))
            let remedy = isTemporary ? ": set TMPDIR, or give --log-file" : ""
            Terminal.complain("understudy: the log file \(self.path ?? "") can't be written: \(reason)\(remedy)")
            throw ExitCode(1)
        }
        if isTemporary, let path = self.path { watcher?.watch(file: path) }
    }

    /// Redirects this process's standard error to the log file.
    func redirectStandardError() { dup2(descriptor, STDERR_FILENO) }

    var isEmpty: Bool {
        var known = stat()
        return fstat(descriptor, &known) == 0 && known.st_size == 0
    }

    /// Removes the log file if it is temporary.
    func discard() {
        if isTemporary, let path { unlink(path) }
    }
}
