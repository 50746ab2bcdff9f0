import Foundation

/// How long a test waits for what comes at once on an idle machine: longer than any busy one takes, so that only what never
/// comes fails.
package let patienceSeconds = 60

/// Looks every few milliseconds until something holds, and says whether it does. What comes late, because the machine is busy,
/// is no failure.
package func eventually(_ holds: () throws -> Bool) rethrows -> Bool {
    let end = ContinuousClock.now + .seconds(patienceSeconds)
    while try !holds() {
        guard ContinuousClock.now < end else { return false }
        Thread.sleep(forTimeInterval: 0.01)
    }
    return true
}

/// A port of 127.0.0.1 on which nobody listens, for what has to be told its port. It lies below those that the system gives to
/// whoever asks for any, so that no test that runs at the same time is given it.
package func unusedPort() -> Int {
    while true {
        let port = Int.random(in: 20_000..<32_000)
        if (try? Wire(port: port)) == nil { return port }
    }
}
