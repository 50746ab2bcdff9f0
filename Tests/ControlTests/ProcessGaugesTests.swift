import Synchronization
import Testing

@testable import Control

@Suite("What health reads of the process")
struct ProcessGaugesTests {
    @Test("the mail server's counters are asked in the same way, however often that was done before")
    func depth() {
        let depths = Mutex<Set<Int>>([])
        let gauges = ProcessGauges()
        gauges.addMail {
            // The address of the stack is lower for each nested call.
            withUnsafeTemporaryAllocation(byteCount: 16, alignment: 16) { room in
                let depth = room.baseAddress.map { Int(bitPattern: $0) } ?? 0
                depths.withLock { _ = $0.insert(depth) }
            }
            return (open: 1, limit: 2)
        }
        for _ in 0..<100 { #expect(gauges.mailConnections?.limit == 2) }
        #expect(depths.withLock { $0.count } == 1)
    }
}
