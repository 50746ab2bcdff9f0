import Dispatch

/// Something to be done later. It doesn't come from Swift's task pool, which a program that embeds the server may keep busy
/// with tasks that block.
package enum Timer {
    package static func after(_ duration: Duration, _ action: @escaping @Sendable () -> Void) {
        let (seconds, attoseconds) = duration.components
        let nanoseconds = seconds * 1_000_000_000 + attoseconds / 1_000_000_000
        DispatchQueue.global().asyncAfter(
            deadline: .now() + .nanoseconds(Int(clamping: nanoseconds)), execute: action)
    }
}
