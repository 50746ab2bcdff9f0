/// The parts of an http or https URL.
struct Target {
    let isSecure: Bool
    let host: String
    let port: String
    let path: String
    let authority: String

    init(_ url: String) throws(OutgoingRequest.Failure) {
        let isSecure = url.hasPrefix("https://")
        guard isSecure || url.hasPrefix("http://") else {
            throw OutgoingRequest.Failure(description: "\"\(url)\" isn't an http or https URL")
        }
        let rest = url.dropFirst(isSecure ? 8 : 7)
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let path = rest.dropFirst(authority.count).prefix { $0 != "#" }
        var host = String(authority)
        var port = isSecure ? "443" : "80"
        if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") {
            host = String(authority[authority.index(after: authority.startIndex)..<end])
            let after = authority[authority.index(after: end)...]
            if !after.isEmpty { port = after.hasPrefix(":") ? String(after.dropFirst()) : "" }
        } else if let colon = authority.utf8.lastIndex(of: UInt8(ascii: ":")) {
            host = String(authority[..<colon])
            port = String(authority[authority.index(after: colon)...])
        }
        guard Target.isHost(host, isBracketed: authority.hasPrefix("[")), UInt16(port) != nil,
            !url.utf8.contains(where: { $0 <= 0x20 })
        else {
            throw OutgoingRequest.Failure(description: "\"\(url)\" isn't a URL that can be called")
        }
        self.isSecure = isSecure
        self.host = host
        self.port = port
        self.path = path.isEmpty ? "/" : path.hasPrefix("/") ? String(path) : "/\(path)"
        self.authority = String(authority)
    }

    /// Whether the host of a URL has only letters, digits, `-`, `_` and `.`, or is an IPv6 address. A DNS resolver
    /// could read other characters differently.
    private static func isHost(_ host: String, isBracketed: Bool) -> Bool {
        !host.isEmpty
            && host.utf8.allSatisfy { byte in
                if isBracketed {
                    return (0x61...0x66).contains(byte | 0x20) || (0x30...0x3A).contains(byte) || byte == 0x2E
                }
                return (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte) || "-_.".utf8.contains(byte)
            }
    }
}
