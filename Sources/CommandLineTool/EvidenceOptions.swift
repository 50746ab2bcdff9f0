import ArgumentParser
import EmulatorCore
import Understudy

/// The files about a run that `exec` leaves behind.
struct EvidenceOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Write every request of the run with its answer to an HTTP archive, all worlds in one.", valueName: "path"),
        completion: .file())
    var har: String?

    @Option(
        help: ArgumentHelp(
            "Write JUnit's XML with a failure for each request that was refused, and why.", valueName: "path"),
        completion: .file())
    var junit: String?

    /// Writes the files that were asked for. Returns `false` if one couldn't be written.
    func write(_ server: RunningServer, of run: RunTime, _ complaints: LineWriter) -> Bool {
        let archive = har ?? Environment.value("HAR")
        let results = junit ?? Environment.value("JUNIT")
        guard archive != nil || results != nil else { return true }
        let report = server.report()
        var isWritten = true
        func write(_ path: String, _ bytes: @autoclosure () -> [UInt8]) {
            do throws(File.Failure) {
                try File.put(bytes(), at: path)
            } catch {
                complaints.write("understudy: \(error)")
                isWritten = false
            }
        }
        if let archive { write(archive, report.archive.serialized()) }
        if let results {
            write(results, Array(report.junit(host: run.host, began: run.began, seconds: run.seconds).utf8))
        }
        return isWritten
    }
}
