import EmulatorCore

extension [any Provider] {
    /// The provider whose operation answered an exchange, or whose part a call of the control API plays; `nil` for what no
    /// provider serves.
    package func answering(_ exchange: RecordedExchange) -> (any Provider)? {
        let segments = exchange.path.split(separator: "/", omittingEmptySubsequences: true)
        guard let host = exchange.host else {
            guard exchange.path.hasPrefix("\(Operation.controlRoot)/"), segments.count > 2 else { return nil }
            return first { $0.name == segments[2] }
        }
        let served = filter { provider in provider.hosts.contains { Glob.matches($0, host) } }
        // A host that two providers share is divided by the first segment of its paths.
        return served.first { provider in
            served.count == 1
                || provider.operations.contains { operation in
                    let first = operation.path.split(separator: "/").first ?? ""
                    return operation.hosts.contains { Glob.matches($0, host) }
                        && (first.hasPrefix(":") || first == segments.first ?? "")
                }
        } ?? served.first
    }
}
