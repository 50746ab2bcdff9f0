import ArgumentParser
import EmulatorCore
import HTTPClient
import JSON
import Understudy

struct HealthCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "health",
        abstract: "Check whether a daemon is ready: exits with 0, or with 1 and prints the reason.",
        discussion: """
            In a container, the command asks the daemon that is the container's first process, at this daemon's port. \
            If there is none, the command asks the port in UNDERSTUDY_PORT, or 9099.
            """)

    @Option(help: "The daemon's address. (default: UNDERSTUDY_URL, or the daemon in this container or on this machine)")
    var url: String?

    /// The number of seconds that the health check of a daemon may take. Docker's health check allows a second more.
    private static let seconds = 2

    func run() throws {
        let url = try url ?? Environment.value("URL") ?? HealthCommand.ownDaemon()
        do throws(OutgoingRequest.Failure) {
            let daemon = DaemonClient(url: url, token: nil, seconds: HealthCommand.seconds)
            let answer = try daemon.ask("GET", "health")
            if answer.status == 200 { return Terminal.print("\(url) is ready") }
            Terminal.complain("understudy: \(url): \(HealthCommand.reason(answer))")
        } catch {
            Terminal.complain("understudy: \(url): \(error.description)")
        }
        throw ExitCode(1)
    }

    private static func reason(_ answer: OutgoingRequest.Answer) -> String {
        if let diagnosis = answer.headers.first(where: { $0.name.lowercased() == Diagnosis.headerName.lowercased() }) {
            return diagnosis.value
        }
        let answer = try? JSONValue(parsing: answer.body, limits: .answer)
        return answer?["error"]?["message"]?.string ?? "answered \(answer?["status"]?.string ?? "no health")"
    }

    // MARK: - The container's daemon

    /// Returns the address of the daemon that runs as the first process of this container, or else of the daemon that
    /// the environment variables describe.
    private static func ownDaemon() throws -> String {
        let served = servedByFirstProcess()
        let port = try served?.options.port ?? Environment.port() ?? 9099
        let host = served?.options.host ?? Environment.value("HOST") ?? "localhost"
        // A daemon at all addresses is at this one, too.
        let name = ["0.0.0.0", "::"].contains(host) ? "localhost" : host.contains(":") ? "[\(host)]" : host
        return "http://\(name):\(port)"
    }

    /// Returns the parsed command `understudy serve` that runs as the first process of the container, perhaps behind an
    /// init that Docker has added; `nil` if there is none.
    private static func servedByFirstProcess() -> ServeCommand? {
        guard let bytes = try? File.read("/proc/1/cmdline", limit: 1 << 20) else { return nil }
        let words = bytes.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
        guard let program = words.firstIndex(where: { $0.split(separator: "/").last == "understudy" }) else {
            return nil
        }
        let arguments = DaemonOptions.completed(Array(words[(program + 1)...]))
        return (try? UnderstudyCommand.parseAsRoot(arguments)) as? ServeCommand
    }
}
