import JSON

extension EndpointCatalog {
    /// The headers that the server writes itself, each with the reason. It would drop ordered ones.
    private static let serverHeaders: [String: String] = {
        let length =
            "the server writes the length that it sends; for a body that breaks off, order \"disconnect\": \"midBody\""
        return [
            "content-length": length, "transfer-encoding": length,
            "connection": "the server decides; to close the connection, order \"disconnect\"",
        ]
    }()

    /// Returns an issue for a header that can't be sent: <https://www.rfc-editor.org/rfc/rfc9110#section-5.5>.
    private static func headerIssue(in effect: LocatedJSON) -> Issue? {
        let separators = Array("\"(),/:;<=>?@[\\]{}".utf8)
        for (name, node) in effect["headers"]?.members ?? [] {
            let isName =
                !name.isEmpty && name.utf8.allSatisfy { (0x21..<0x7F).contains($0) && !separators.contains($0) }
            guard isName else { return Issue(node, "\(Diagnosis.quote(name)) can't be a header's name") }
            if let reason = serverHeaders[name.lowercased()] {
                return Issue(node, "\(name) can't be ordered: \(reason)")
            }
            let isValue = (node.string ?? "").utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
            guard isValue else { return Issue(node, "a header's value can't hold control characters") }
        }
        return nil
    }

    /// Returns the reasons why no endpoint can carry out an effect.
    static func contradictions(in effect: LocatedJSON) -> [Issue] {
        let value = FaultEffect(reading: effect.value)
        func has(_ name: String) -> Bool { effect[name] != nil }
        for (part, whole) in [("headers", "status"), ("body", "status"), ("description", "error")]
        where has(part) && !has(whole) {
            return [Issue(effect[part] ?? effect, "\(part) goes with \(whole), which is missing")]
        }
        if let issue = headerIssue(in: effect) { return [issue] }
        let replacing =
            ["status", "error", "response", "reply"].filter(has) + (value.isLost ? ["lose"] : [])
            + (value.disconnect == .beforeHeaders ? ["disconnect"] : [])
        if replacing.count > 1 {
            return [
                Issue(
                    effect[replacing[1]] ?? effect,
                    "an answer is replaced once: give \(replacing.joined(separator: " or "))")
            ]
        }
        let isNothing =
            value.answer == nil && value.delay == nil && value.disconnect == nil && value.error == nil
            && value.token?.isNothing ?? true && value.response.isEmpty && value.rotation == nil && value.keySet == nil
            && !value.isMalformed
            && value.state == nil && value.issuer == nil && !value.isCodeUsed && value.reply == nil && !value.isLost
        guard isNothing, case .object(let members) = FaultEffect.schema else { return [] }
        let names = members.fields.map(\.name).filter { !["headers", "body", "description"].contains($0) }
        return [Issue(effect, "nothing would happen: give one of \(names.joined(separator: ", "))")]
    }
}
