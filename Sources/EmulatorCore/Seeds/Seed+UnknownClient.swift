import JSON

extension Seed {
    /// Returns the reason why no request at these providers can come from a client with this ID, with similar IDs;
    /// `nil` when one can.
    package func unknownClient(_ id: String, at providers: Set<String>) -> String? {
        let asked = sections.filter { providers.contains(type(of: $0).name) }
        guard !asked.isEmpty, !asked.contains(where: { $0.knows(client: id) }) else { return nil }
        let place = providers.count == 1 ? " at \(providers.first ?? "")" : ""
        let message = "no client \(Diagnosis.quote(id))\(place) in this world's seed"
        if let owner = sections.first(where: { $0.seededClients.contains { $0.id == id } }) {
            return "\(message): it is one at \(type(of: owner).name)"
        }
        let known = asked.flatMap(\.seededClients).map(\.id)
        let hint = Spelling.hint(id, among: known)
        guard hint.isEmpty, !known.isEmpty else { return message + hint }
        let more = known.count > 8 ? " and \(known.count - 8) others" : ""
        return "\(message); there are: \(known.prefix(8).joined(separator: ", "))\(more)"
    }
}
