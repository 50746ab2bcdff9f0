import ArgumentParser
import JOSE
import Logging

/// How log lines look.
enum LogFormat: String, ExpressibleByArgument, CaseIterable {
    case text
    case json

    func logger(level: Logger.Level) -> Logger {
        var logger = Logger(label: "understudy") { label in
            switch self {
            case .text: StreamLogHandler.standardError(label: label)
            case .json: JSONLogHandler()
            }
        }
        logger.logLevel = level
        return logger
    }
}

/// One JSON object a line, on standard error.
struct JSONLogHandler: LogHandler {
    var logLevel = Logger.Level.info
    var metadata = Logger.Metadata()

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var line = JSONObject([("level", .string(event.level.rawValue)), ("message", .string("\(event.message)"))])
        let all = metadata.merging(event.metadata ?? [:]) { _, new in new }
        for (key, value) in all.sorted(by: { $0.key < $1.key }) { line[key] = .string("\(value)") }
        Terminal.complain(JSONValue.object(line).text)
    }
}
