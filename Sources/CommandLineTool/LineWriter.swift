import Dispatch
import Glibc
import Synchronization

/// Lines for a descriptor, written by one thread in the order in which they came.
///
/// Whoever hands a line in never waits, whether or not anybody reads: what doesn't fit the queue, or can't be written, is
/// dropped and counted, and the count is told in its place as soon as something can be written again.
final class LineWriter: Sendable {
    /// Standard error. The daemon's log goes there, and so does what is said to the person, so that the order is kept.
    static let standardError = LineWriter(STDERR_FILENO)

    /// How many bytes wait at most, beside those that are being written.
    static let capacity = 256 * 1024
    /// How long a process that ends waits for what hasn't been written yet.
    static let patience: DispatchTimeInterval = .milliseconds(500)

    private struct State {
        var waiting: [UInt8] = []
        /// Lines dropped since the last one that waits, which haven't been told yet.
        var untold = 0
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

    /// How the number of dropped lines is told; without it, it isn't.
    func tellDropped(by notice: @escaping @Sendable (Int) -> String) { state.withLock { $0.notice = notice } }

    /// Hands in a line, without its line break.
    func write(_ line: String) {
        let needsThread = state.withLock { state in
            // After one that was dropped none is taken until the thread comes: the count belongs behind those that wait.
            if state.untold > 0 || state.waiting.count + line.utf8.count >= LineWriter.capacity {
                state.untold += 1
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
            if !state.isWriting, state.waiting.isEmpty, state.untold == 0 { return true }
            state.flushes.append(done)
            return false
        }
        if !isIdle { wake.signal() }
        return isIdle || done.wait(timeout: .now() + patience) == .success
    }

    // MARK: - The thread

    private func start() {
        var thread = pthread_t()
        let context = Unmanaged.passRetained(self)
        let result = pthread_create(
            &thread, nil,
            { context in
                if let context { Unmanaged<LineWriter>.fromOpaque(context).takeRetainedValue().run() }
                return nil
            }, context.toOpaque())
        if result == 0 {
            pthread_detach(thread)
        } else {
            // Without a thread, whoever hands a line in writes it. The next line tries again.
            context.release()
            state.withLock { $0.hasThread = false }
            var isMidLine = false
            writeWaiting(&isMidLine)
        }
    }

    private func run() {
        var isMidLine = false
        while true {
            wake.wait()
            writeWaiting(&isMidLine)
        }
    }

    /// Writes what waits, and tells what was dropped.
    private func writeWaiting(_ isMidLine: inout Bool) {
        let (lines, untold, notice) = state.withLock { state in
            state.isWriting = true
            defer {
                state.waiting = []
                state.untold = 0
            }
            return (state.waiting, state.untold, state.notice)
        }
        var lost = lines.isEmpty ? 0 : write(lines, &isMidLine)
        state.withLock { $0.dropped += lost }
        lost += untold
        if lost > 0, let notice, write(Array("\(notice(lost))\n".utf8), &isMidLine) > 0 {
            state.withLock { $0.untold += lost }
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
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                isMidLine = rest[rest.startIndex + count - 1] != 0x0A
                rest = rest.dropFirst(count)
                continue
            }
            switch errno {
            case EINTR: continue
            case EAGAIN:
                // Whoever shares the descriptor doesn't want to wait; this thread does.
                var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&entry, 1, -1)
            default: return rest.count { $0 == 0x0A }
            }
        }
        return 0
    }
}

/// For loggers, which write a line with its line break.
struct LineStream: TextOutputStream, Sendable {
    let writer: LineWriter

    func write(_ text: String) { writer.write(text.hasSuffix("\n") ? String(text.dropLast()) : text) }
}
