import Dispatch
import Platform
import Synchronization

/// Writes lines to a descriptor, by one thread and in order.
///
/// Adding a line never blocks, also when nobody reads from the descriptor. Lines that don't fit the queue or can't be
/// written are dropped and counted; the count is written in their place as soon as possible.
final class LineWriter: Sendable {
    /// Standard error, for the daemon's log and for messages to the person, so that both are in order.
    static let standardError = LineWriter(STDERR_FILENO)

    /// How many bytes may be in the queue, apart from those that are being written.
    static let capacity = 256 * 1024
    /// How long a process that ends waits until its lines are written.
    static let patience: DispatchTimeInterval = .milliseconds(500)

    private struct State {
        var waiting: [UInt8] = []
        /// How many lines were dropped after the last one in the queue, and haven't been reported.
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

    /// How many lines were dropped since the process began.
    var droppedLines: Int { state.withLock { $0.dropped } }

    /// Makes the line that reports dropped lines. Without it, they aren't reported.
    func reportDropped(by notice: @escaping @Sendable (Int) -> String) { state.withLock { $0.notice = notice } }

    /// Adds a line, given without its line break.
    func write(_ line: String) {
        let needsThread = state.withLock { state in
            // Once a line has been dropped, no other is added until the thread has run: the report must follow the lines
            // in the queue.
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

    /// Waits until everything has been written or dropped, at most `patience`.
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
        // When there can be no thread, the caller writes the line. The next call tries again.
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

    /// Writes the lines in the queue, and reports those that were dropped.
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

    /// Returns how many lines weren't written.
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
                // A process that shares the descriptor has made it non-blocking. This thread may wait.
                var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&entry, 1, -1)
            default: return rest.count { $0 == 0x0A }
            }
        }
        return 0
    }
}

/// For loggers: they write a line with its line break.
struct LineStream: TextOutputStream, Sendable {
    let writer: LineWriter

    func write(_ text: String) { writer.write(text.hasSuffix("\n") ? String(text.dropLast()) : text) }
}
