import Platform

/// The address of a connection's client.
enum ClientAddress {
    /// Returns the address's bytes, or `nil` for loopback, which has no limit of its own.
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
