import ArgumentParser
import Platform

/// Writes the daemon's log to a file, because the command uses standard error.
struct LogFile {
    /// A copy of the original standard error.
    let own: Int32
    /// The log's path; `nil` if there is no log.
    let path: String?
    private let descriptor: Int32
    private let isTemporary: Bool

    /// Opens the log at `path`, or in a temporary file.
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

    /// Redirects this process's standard error to the file.
    func takeStandardError() { dup2(descriptor, STDERR_FILENO) }

    /// Whether the log is empty.
    var isEmpty: Bool {
        var known = stat()
        return fstat(descriptor, &known) == 0 && known.st_size == 0
    }

    /// Removes the file if it is temporary.
    func discard() {
        if isTemporary, let path { unlink(path) }
    }
}
