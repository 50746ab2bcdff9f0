import Platform

/// Reads and writes files by their paths. Every failure names the path and the reason.
package enum File {
    package struct Failure: Error, CustomStringConvertible, Sendable {
        package let path: String
        /// The part of the error's text that says what can't be done with the file, such as `can't be read`.
        package let what: String
        /// The reason why an action on a file failed, such as `Permission denied`.
        package let reason: String
        /// Whether the action on a file failed because there is no file or directory at the path.
        package let isMissing: Bool

        package var description: String { "\(path) \(what): \(reason)" }

        /// Makes the error for a failed action on a file. Without a `reason`, the error has the system's reason, from
        /// `errno`.
        package init(_ path: String, _ what: String, _ reason: String? = nil) {
            let code = errno
            self.path = path
            self.what = what
            self.reason = reason ?? String(cString: strerror(code))
            isMissing = reason == nil && (code == ENOENT || code == ENOTDIR)
        }
    }

    /// The size of the longest file that is read unless the caller sets another limit, in bytes.
    package static let limit = 64 << 20
    /// The longest time in milliseconds that reading from a pipe waits for data.
    private static let patience: Int32 = 10_000

    package static func isDirectory(_ path: String) throws(Failure) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else { throw Failure(path, "can't be read") }
        return status.st_mode & S_IFMT == S_IFDIR
    }

    package static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// Returns the sorted names of the files and directories in a directory.
    package static func names(in path: String) throws(Failure) -> [String] {
        guard let directory = opendir(path) else { throw Failure(path, "can't be read") }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// Reads a file to its end, or a pipe that another process writes to. More than `limit` bytes are an error.
    package static func read(_ path: String, limit: Int = File.limit) throws(Failure) -> [UInt8] {
        let what = "can't be read"
        // Without this flag, opening a pipe would wait until somebody writes to it.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { throw Failure(path, what) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw Failure(path, what) }
        guard status.st_mode & S_IFMT != S_IFDIR else { throw Failure(path, what, "it is a directory") }
        let isPipe = status.st_mode & S_IFMT == S_IFIFO || status.st_mode & S_IFMT == S_IFCHR
        let tooLong = "it has more than \(limit >> 20) MB"
        guard status.st_size <= limit else { throw Failure(path, what, tooLong) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Int(status.st_size) + 1)
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            if isPipe {
                var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                guard poll(&entry, 1, patience) != 0 else {
                    throw Failure(path, what, "no data was written to the pipe for \(patience / 1000) s")
                }
            }
            let count = Platform.read(descriptor, &chunk, chunk.count)
            if count == 0 { return bytes }
            if count > 0 {
                bytes += chunk[..<count]
                guard bytes.count <= limit else { throw Failure(path, what, tooLong) }
            } else if errno != EINTR, errno != EAGAIN {
                throw Failure(path, what)
            }
        }
    }

    /// Reads standard input to its end. More than `limit` bytes are an error.
    package static func standardInput(limit: Int) throws(Failure) -> [UInt8] {
        let (path, what) = ("standard input", "can't be read")
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Platform.read(STDIN_FILENO, &chunk, chunk.count)
            if count == 0 { return bytes }
            if count > 0 {
                bytes += chunk[..<count]
                guard bytes.count <= limit else { throw Failure(path, what, "it has more than \(limit >> 20) MB") }
            } else if errno != EINTR {
                throw Failure(path, what)
            }
        }
    }

    /// Reads a file as UTF-8 text. A file that isn't UTF-8 is an error.
    package static func text(at path: String, limit: Int = File.limit) throws(Failure) -> String {
        let bytes = try read(path, limit: limit)
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Failure(path, "can't be read", "it isn't UTF-8")
        }
        return text
    }

    /// Writes a file under a temporary name and then renames it, so that no other process sees an incomplete file or a
    /// wrong file mode.
    package static func write(_ bytes: some Sequence<UInt8>, to path: String, mode: mode_t) throws(Failure) {
        let what = "can't be written"
        let draft = draftName(for: path)
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw Failure(path, what) }
        guard write(Array(bytes), to: descriptor) else { throw abandon(descriptor, draft, Failure(path, what)) }
        // The umask may have restricted the mode. A full disk may be reported only now.
        guard fchmod(descriptor, mode) == 0, fsync(descriptor) == 0, rename(draft, path) == 0 else {
            throw abandon(descriptor, draft, Failure(path, what))
        }
        close(descriptor)
    }

    /// Writes to a path that the user has named. It may be a new or existing file, a link's target, a pipe or a device.
    /// A new file's mode follows the umask, and an existing file keeps its mode. After a failure, some of the bytes may
    /// have been written.
    package static func put(_ bytes: [UInt8], at path: String) throws(Failure) {
        let what = "can't be written"
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0o666)
        guard descriptor >= 0 else { throw Failure(path, what) }
        let isWritten = write(bytes, to: descriptor)
        let failure = Failure(path, what)
        // A full disk may be reported only now.
        guard close(descriptor) == 0 else { throw Failure(path, what) }
        if !isWritten { throw failure }
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Platform.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if count == 0 || errno != EINTR {
                return false
            }
        }
        return true
    }

    private static func abandon(_ descriptor: Int32, _ draft: String, _ failure: Failure) -> Failure {
        close(descriptor)
        unlink(draft)
        return failure
    }

    /// Removes the file or directory at a path, with everything in it. Files that can't be removed stay.
    package static func remove(_ path: String) {
        // Don't follow a symbolic link.
        guard unlink(path) != 0, (try? isThere(.folder, at: path)) == true else { return }
        for name in (try? names(in: path)) ?? [] { remove("\(path)/\(name)") }
        rmdir(path)
    }

    /// Returns a temporary path in the same directory as `path`, with a random end that no other process uses or can
    /// guess.
    static func draftName(for path: String) -> String {
        "\(path).\(String(UInt64.random(in: UInt64.min...UInt64.max), radix: 36))"
    }

    /// Makes a directory, and all directories above it that are missing.
    package static func makeDirectory(_ path: String, mode: mode_t) throws(Failure) {
        var place = path.hasPrefix("/") ? "" : "."
        for part in path.split(separator: "/") {
            place += "/\(part)"
            guard mkdir(place, mode) != 0, errno != EEXIST else { continue }
            // On a read-only file system, this is the error also for directories that exist.
            let failure = Failure(path.hasPrefix("/") ? place : String(place.dropFirst(2)), "can't be made")
            guard exists(place) else { throw failure }
        }
        guard try isDirectory(path) else { throw Failure(path, "can't be made", "it is a file") }
    }
}
