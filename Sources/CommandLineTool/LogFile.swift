import ArgumentParser
import Glibc

/// Where the daemon's log goes while somebody else has standard error.
struct LogFile {
    /// Standard error as it was.
    let own: Int32
    /// `nil` when nothing is kept.
    let path: String?
    private let descriptor: Int32
    private let isTemporary: Bool

    /// At `path`, or in a temporary file.
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

    /// From now on, what is written to standard error goes to the file.
    func takeStandardError() { dup2(descriptor, STDERR_FILENO) }

    /// Nobody needs it.
    func discard() {
        if isTemporary, let path { unlink(path) }
    }
}
