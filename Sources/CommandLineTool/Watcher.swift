import Platform
import EmulatorCore

/// A second process that waits for the end of `understudy exec`. If `exec` is killed, as by SIGKILL, the second process
/// ends the command that `exec` runs, and removes temporary files.
struct Watcher {
    /// The milliseconds that a command is given to end by itself. After this time, SIGKILL ends the command.
    private static let grace = 2000

    enum Message: UInt8 {
        /// The message that contains the command's process group. It is sent before the command begins to run.
        case group
        case file
        case goodbye
    }

    let descriptor: Int32

    /// Forks `understudy exec`. The fork waits until `exec` ends. Call this initializer while `exec` has only one
    /// thread, because locks of other threads would stay locked in the fork.
    init?() {
        var pair: [Int32] = [0, 0]
        guard understudy_channel(&pair) == 0 else { return nil }
        let identifier = understudy_fork()
        if identifier == 0 {
            close(pair[0])
            Watcher.watch(pair[1])
        }
        close(pair[1])
        guard identifier > 0 else {
            close(pair[0])
            return nil
        }
        descriptor = pair[0]
    }

    /// Tells a second process, which waits for the end of `understudy exec`, to remove a temporary file or directory if
    /// `exec` is killed.
    func watch(file: String) { send(.file, file) }

    /// Ends the process that waits for the end of `understudy exec`, because nothing is left to wait for.
    func dismiss() {
        send(.goodbye, "")
        close(descriptor)
    }

    private func send(_ message: Message, _ text: String) {
        let bytes = Array(text.utf8.prefix(Int(UInt16.max)))
        understudy_tell(descriptor, message.rawValue, bytes, UInt16(clamping: bytes.count))
    }

    // MARK: - The other process

    private static func watch(_ descriptor: Int32) -> Never {
        // Close output and files, because others may wait for the end of this program's output or for a locked file.
        for other in 0..<Int32(clamping: min(sysconf(Int32(_SC_OPEN_MAX)), 65_536)) where other != descriptor {
            close(other)
        }
        let terminal = ControllingTerminal()
        // Signals of the terminal and to the group of `exec` aren't meant for this process.
        setpgid(0, 0)
        var all = sigset_t()
        sigfillset(&all)
        sigprocmask(SIG_BLOCK, &all, nil)
        var group: pid_t = 0
        var files: [String] = []
        while let (message, bytes) = receive(from: descriptor) {
            switch message {
            case .group where bytes.count == MemoryLayout<pid_t>.size:
                group = bytes.withUnsafeBytes { $0.loadUnaligned(as: pid_t.self) }
            case .group: break
            case .file: files.append(String(decoding: bytes, as: UTF8.self))
            case .goodbye: _exit(0)
            }
        }
        ChildProcess.end(group, within: grace, asking: true)
        terminal?.reclaimForeground(from: group)
        for file in files { File.remove(file) }
        _exit(0)
    }

    /// Returns the next message from the process of `understudy exec`; `nil` if that process has ended.
    private static func receive(from descriptor: Int32) -> (Message, [UInt8])? {
        guard let head = bytes(3, from: descriptor), let message = Message(rawValue: head[0]),
            let body = bytes(Int(head[1]) | Int(head[2]) << 8, from: descriptor)
        else { return nil }
        return (message, body)
    }

    private static func bytes(_ count: Int, from descriptor: Int32) -> [UInt8]? {
        var bytes: [UInt8] = []
        while bytes.count < count {
            var part = [UInt8](repeating: 0, count: count - bytes.count)
            let size = recv(descriptor, &part, part.count, 0)
            if size < 0, errno == EINTR { continue }
            guard size > 0 else { return nil }
            bytes += part[..<size]
        }
        return bytes
    }
}
