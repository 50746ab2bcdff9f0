import CMicrohttpd
import Glibc
import Synchronization

/// Counts connections: in all, and by address for addresses that aren't loopback.
package final class ConnectionGate: Sendable {
    private struct Counts {
        var total = 0
        var byAddress: [[UInt8]: Int] = [:]
    }

    private let counts = Mutex(Counts())
    private let limit: Int
    private let limitPerAddress: Int

    package init(limit: Int, limitPerAddress: Int) {
        self.limit = limit
        self.limitPerAddress = limitPerAddress
    }

    /// How many are open.
    var count: Int { counts.withLock { $0.total } }

    package func admits(_ address: UnsafePointer<sockaddr>?) -> Bool {
        let key = ConnectionGate.key(of: address)
        return counts.withLock { counts in
            counts.total < limit && key.map { counts.byAddress[$0, default: 0] < limitPerAddress } ?? true
        }
    }

    package func opened(_ address: UnsafePointer<sockaddr>?) {
        let key = ConnectionGate.key(of: address)
        counts.withLock { counts in
            counts.total += 1
            if let key { counts.byAddress[key, default: 0] += 1 }
        }
    }

    package func closed(_ address: UnsafePointer<sockaddr>?) {
        let key = ConnectionGate.key(of: address)
        counts.withLock { counts in
            counts.total -= 1
            guard let key, let count = counts.byAddress[key] else { return }
            counts.byAddress[key] = count > 1 ? count - 1 : nil
        }
    }

    /// The address's bytes; `nil` for loopback, which has no limit of its own.
    static func key(of address: UnsafePointer<sockaddr>?) -> [UInt8]? {
        guard let address else { return nil }
        let raw = UnsafeRawPointer(address)
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            let bytes = Array(UnsafeRawBufferPointer(start: raw + 4, count: 4))
            return bytes[0] == 127 ? nil : bytes
        case AF_INET6:
            let bytes = Array(UnsafeRawBufferPointer(start: raw + 8, count: 16))
            let isMapped = bytes.starts(with: [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF])
            if isMapped { return bytes[12] == 127 ? nil : Array(bytes[12...]) }
            return bytes == [UInt8](repeating: 0, count: 15) + [1] ? nil : bytes
        default:
            return nil
        }
    }
}
