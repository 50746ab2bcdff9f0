import Foundation

/// The seconds that a test waits for an event that is immediate on an idle machine. It is longer than on any busy one,
/// so that a test fails only if the event never happens.
package let patienceSeconds = 60

/// Checks every few milliseconds until the condition holds, and returns whether it does. An event that is late on a
/// busy machine is no failure.
package func eventually(_ holds: () throws -> Bool) rethrows -> Bool {
    let end = ContinuousClock.now + .seconds(patienceSeconds)
    while try !holds() {
        guard ContinuousClock.now < end else { return false }
        Thread.sleep(forTimeInterval: 0.01)
    }
    return true
}

/// Returns a port of 127.0.0.1 on which no process listens, for tests that need its number. It is below the ports that
/// the system assigns, so that no concurrent test gets it.
package func unusedPort() -> Int {
    while true {
        let port = Int.random(in: 20_000..<32_000)
        if (try? Wire(port: port)) == nil { return port }
    }
}
