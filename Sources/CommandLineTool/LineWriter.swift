import Dispatch
import Platform
import Synchronization

/// Writes lines to a descriptor, on one thread and in order.
///
/// Adding a line doesn't block, even if nobody reads from the descriptor's other end. Only when no thread can be
/// started, the caller writes the line itself, which may block. Lines that don't fit into the queue or can't be written
/// are dropped. As soon as possible, the number of dropped lines is written in their place.
final class LineWriter: Sendable {
    /// The writer for standard error, used for the daemon's log and for messages to the user, so that both stay in
    /// order.
    static let standardError = LineWriter(STDERR_FILENO)

    /// The greatest number of bytes of lines that wait in the queue. Lines that are being written don't count.
    static let capacity = 256 * 1024
    /// The time that a process waits at its end for the queued lines to be written.
    static let patience: DispatchTimeInterval = .milliseconds(500)

    private struct State {
        var waiting: [UInt8] = []
        /// The number of lines that were dropped since the output last told the number of dropped lines.
        var unreported = 0
        var dropped = 0
        var isWriting = false
        var hasThread = false
        var flushes: [DispatchSemaphore] = []
        var notice: (@Sendable (Int) -> String)?
    }

    private let descriptor: Int32
    private let state = Mutex(State())
    private let wake = DispatchSemaphore(value: 0)

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    /// The number of lines that were dropped since the process began.
    var droppedLines: Int { state.withLock { $0.dropped } }

    /// Sets the closure that makes the report of dropped lines, which is one line. The closure's argument is the number
    /// of dropped lines. Without a closure, dropped lines aren't reported.
    func reportDropped(by notice: @escaping @Sendable (Int) -> String) { state.withLock { $0.notice = notice } }

    /// Adds a line to the queue. `line` has no line break.
    func write(_ line: String) {
        let needsThread = state.withLock { state in
            // After a dropped line, no line is added until the thread has run: the report must follow the lines in the
            // queue.
            if state.unreported > 0 || state.waiting.count + line.utf8.count >= LineWriter.capacity {
                state.unreported += 1
                state.dropped += 1
            } else {
                state.waiting += line.utf8
                state.waiting.append(0x0A)
            }
            defer { state.hasThread = true }
            return !state.hasThread
        }
        if needsThread { start() }
        wake.signal()
    }

    /// Waits until all queued lines have been written or dropped. Returns `false` if that takes longer than `patience`.
    @discardableResult
    func flush(within patience: DispatchTimeInterval = patience) -> Bool {
        let done = DispatchSemaphore(value: 0)
        let isIdle = state.withLock { state in
            if !state.isWriting, state.waiting.isEmpty, state.unreported == 0 { return true }
            state.flushes.append(done)
            return false
        }
        if !isIdle { wake.signal() }
        return isIdle || done.wait(timeout: .now() + patience) == .success
    }

    // MARK: - The thread

    private func start() {
        guard !WorkThread.start({ [self] in run() }) else { return }
        // If no thread can be started, the caller writes the line. The next call tries again.
        state.withLock { $0.hasThread = false }
        var isMidLine = false
        writeWaiting(&isMidLine)
    }

    private func run() {
        var isMidLine = false
        while true {
            wake.wait()
            writeWaiting(&isMidLine)
        }
    }

    /// Writes the lines in the queue, and reports how many lines were dropped.
    private func writeWaiting(_ isMidLine: inout Bool) {
        let (lines, unreported, notice) = state.withLock { state in
            state.isWriting = true
            defer {
                state.waiting = []
                state.unreported = 0
            }
            return (state.waiting, state.unreported, state.notice)
        }
        var lost = lines.isEmpty ? 0 : write(lines, &isMidLine)
        state.withLock { $0.dropped += lost }
        lost += unreported
        if lost > 0, let notice, write(Array("\(notice(lost))\n".utf8), &isMidLine) > 0 {
            state.withLock { $0.unreported += lost }
        }
        state.withLock { state in
            guard state.waiting.isEmpty else { return }
            state.isWriting = false
            for flush in state.flushes { flush.signal() }
            state.flushes = []
        }
    }

    /// Writes lines to the descriptor, and returns the number of lines that couldn't be written.
    private func write(_ lines: [UInt8], _ isMidLine: inout Bool) -> Int {
        var rest = (isMidLine ? [0x0A] + lines : lines)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Platform.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                isMidLine = rest[rest.startIndex + count - 1] != 0x0A
                rest = rest.dropFirst(count)
                continue
            }
            switch errno {
            case EINTR: continue
            case EAGAIN:
                // Another process with this descriptor has made it non-blocking. This thread may wait.
                var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&entry, 1, -1)
            default: return rest.count { $0 == 0x0A }
            }
        }
        return 0
    }
}

/// A text stream for loggers. Each text that a logger writes is one line with its line break.
struct LineStream: TextOutputStream, Sendable {
    let writer: LineWriter

    func write(_ text: String) { writer.write(text.hasSuffix("\n") ? String(text.dropLast()) : text) }
}
