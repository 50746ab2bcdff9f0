import Dispatch

/// A timer that runs an action later, on one of Dispatch's threads. Swift's task pool isn't used, because a program
/// that embeds the server may keep the pool busy with tasks that block.
///
/// A timer exists until it has fired or is cancelled, even if nothing refers to it.
package final class Timer: Sendable {
    // Dispatch's sources may be used from any thread, though their protocol doesn't say so.
    private nonisolated(unsafe) let source: any DispatchSourceTimer

    private init(_ duration: Duration, _ action: @escaping @Sendable () -> Void) {
        source = DispatchSource.makeTimerSource()
        // The source retains its handler, and the handler this timer, until it is cancelled.
        source.setEventHandler { [self] in
            source.cancel()
            action()
        }
        source.schedule(deadline: .now() + .nanoseconds(Timer.nanoseconds(duration)))
        source.resume()
    }

    /// Runs `action` once after `duration`: at once if the duration is negative, and in a year at the latest.
    @discardableResult
    package static func after(_ duration: Duration, _ action: @escaping @Sendable () -> Void) -> Timer {
        Timer(duration, action)
    }

    /// Runs the timer's action now, on another thread, unless it has already run.
    package func fireNow() { source.schedule(deadline: .now()) }

    package func cancel() { source.cancel() }

    /// Returns the whole nanoseconds of `duration`, limited to the range from 0 to a year.
    static func nanoseconds(_ duration: Duration) -> Int {
        let year: Duration = .seconds(366 * 86_400)
        let (seconds, attoseconds) = max(.zero, min(year, duration)).components
        return Int(clamping: seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}
