import Platform
import Testing

@testable import HTTPServer

@Suite("The number of connections from one address")
struct ConnectionGateTests {
    private func withAddress<Result>(_ text: String, _ body: (UnsafePointer<sockaddr>) -> Result) -> Result {
        var storage = sockaddr_storage()
        withUnsafeMutableBytes(of: &storage) { bytes in
            if text.contains(":") {
                var address = sockaddr_in6()
                address.sin6_family = sa_family_t(AF_INET6)
                inet_pton(AF_INET6, text, &address.sin6_addr)
                bytes.storeBytes(of: address, as: sockaddr_in6.self)
            } else {
                var address = sockaddr_in()
                address.sin_family = sa_family_t(AF_INET)
                inet_pton(AF_INET, text, &address.sin_addr)
                bytes.storeBytes(of: address, as: sockaddr_in.self)
            }
        }
        return withUnsafePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0) }
        }
    }

    private func isAdmitted(_ descriptor: Int32, from address: String, by gate: ConnectionGate) -> Bool {
        guard case .admitted = withAddress(address, { gate.admit(descriptor, $0) }) else { return false }
        return true
    }

    @Test(
        "an address that isn't loopback has a limit of its own",
        arguments: ["192.0.2.1", "2001:db8::1", "::ffff:192.0.2.1"])
    func foreign(address: String) throws {
        let gate = ConnectionGate(.init(connections: 100, connectionsPerAddress: 2))
        #expect(isAdmitted(-11, from: address, by: gate))
        #expect(isAdmitted(-12, from: address, by: gate))
        #expect(!isAdmitted(-13, from: address, by: gate))
        #expect(isAdmitted(-14, from: "192.0.2.2", by: gate))
        gate.closed(try #require(gate.opened(-11)))
        #expect(isAdmitted(-15, from: address, by: gate))
        #expect(gate.counters.refused == 1)
    }

    @Test("loopback has only the limit of all", arguments: ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"])
    func loopback(address: String) {
        let gate = ConnectionGate(.init(connections: 10, connectionsPerAddress: 2))
        // No worker has opened a connection yet, so none can be closed for another.
        for number in 0..<10 { #expect(isAdmitted(-20 - Int32(number), from: address, by: gate)) }
        #expect(!isAdmitted(-40, from: address, by: gate))
    }

    @Test("a descriptor that comes again was closed without a word, and isn't counted twice")
    func lost() {
        let gate = ConnectionGate(.init(connections: 10, connectionsPerAddress: 2))
        for _ in 0..<100 { #expect(isAdmitted(-20, from: "192.0.2.1", by: gate)) }
        #expect(gate.count == 1)
    }
}
