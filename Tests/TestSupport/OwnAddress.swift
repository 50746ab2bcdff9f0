import Foundation

/// The IPv4 address of a network interface of this machine other than loopback; `nil` if there is none. To a server that
/// listens on all addresses, a client that connects to it comes from outside.
package let ownAddress: String? = {
    var first: UnsafeMutablePointer<ifaddrs>?
    guard getifaddrs(&first) == 0 else { return nil }
    defer { freeifaddrs(first) }
    for interface in sequence(first: first, next: { $0?.pointee.ifa_next }) {
        guard let address = interface?.pointee.ifa_addr, Int32(address.pointee.sa_family) == AF_INET else { continue }
        let bytes = Array(UnsafeRawBufferPointer(start: UnsafeRawPointer(address) + 4, count: 4))
        if bytes[0] != 127 { return bytes.map(String.init).joined(separator: ".") }
    }
    return nil
}()
