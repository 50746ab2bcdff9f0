import Dispatch

/// Runs an action later, on one of Dispatch's threads. Swift's task pool isn't used, because a program that embeds the server may
/// keep it busy with tasks that block.
///
/// It exists until it has fired or is cancelled, also when nothing refers to it.
package final class Timer: Sendable {
    // Dispatch's sources may be used from any thread, though their protocol doesn't say so.
    private nonisolated(unsafe) let source: any DispatchSourceTimer

    private init(_ duration: Duration, _ action: @escaping @Sendable () -> Void) {
        source = DispatchSource.makeTimerSource()
        // The source keeps its handler, and the handler this timer, until the cancellation.
        source.setEventHandler { [self] in
            source.cancel()
            action()
        }
        source.schedule(deadline: .now() + .nanoseconds(Timer.nanoseconds(duration)))
        source.resume()
    }

    /// Runs `action` once, `duration` from now: at once when that is negative, a year from now when it is longer than that.
    @discardableResult
    package static func after(_ duration: Duration, _ action: @escaping @Sendable () -> Void) -> Timer {
        Timer(duration, action)
    }

    /// Fires now, on another thread, unless it has fired already.
    package func fireNow() { source.schedule(deadline: .now()) }

    /// Prevents it from firing.
    package func cancel() { source.cancel() }

    /// Whole nanoseconds of a duration, between 0 and a year.
    static func nanoseconds(_ duration: Duration) -> Int {
        let year: Duration = .seconds(366 * 86_400)
        let (seconds, attoseconds) = max(.zero, min(year, duration)).components
        return Int(clamping: seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}
