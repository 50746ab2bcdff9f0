/// A recorded request with its answer, the sign-in to which it belongs (its flow), and the client that signs a user in.
/// The flow and the client are found by means of earlier requests.
package struct KnownExchange: Sendable {
    package let exchange: RecordedExchange
    package let flow: String
    package let client: String?

    package init(exchange: RecordedExchange, flow: String, client: String?) {
        self.exchange = exchange
        self.flow = flow
        self.client = client
    }
}

/// Groups recorded requests by sign-in (a flow): the authorization request, the redemption of its code, the uses of its
/// tokens and their revocation. Requests are added in the sequence of their answers, and removed when the recording
/// removes them.
struct FlowIndex: Sendable {
    private struct Holder {
        var flow: String
        /// The number of recorded requests in which this code or token occurs.
        var count: Int
    }

    private struct StateHolder {
        var flow: String
        /// The client that sent this value of the parameter `state`; `nil` if the client isn't known.
        var client: String?
        /// The number of recorded requests in which this `state` occurs.
        var count: Int
    }

    private struct Flow {
        /// The first client that a request of this sign-in names.
        var client: String?
        var count = 0
    }

    private struct Entry {
        let id: String
        let found: Traces.Found
        var flow: String
    }

    private var entries: [Entry] = []
    private var first = 0
    /// The position that `entries[first]` has in the recording. Older requests have been dropped.
    private var start = 0
    private var places: [String: Int] = [:]
    private var owners: [Int: Holder] = [:]
    private var states: [Int: StateHolder] = [:]
    /// The sign-ins to which redirects belong. Each key is the hash of a redirect's destination, and is removed when a
    /// request for this destination is recorded.
    private var onward: [Int: String] = [:]
    private var flows: [String: Flow] = [:]
    /// Recorded requests that the daemon sent to itself while it handled another request, their parent. Each key is the
    /// ID of a parent that isn't recorded yet, and the value has the IDs of its requests.
    private var orphans: [String: [String]] = [:]
    private static let orphanLimit = 256

    /// The position that the next recorded request will have.
    var end: Int { start + entries.count - first }

    func known(_ exchange: RecordedExchange) -> KnownExchange {
        let flow = places[exchange.id].map { entries[$0 - start + first].flow } ?? exchange.id
        return KnownExchange(
            exchange: exchange, flow: flow, client: exchange.client ?? flows[flow]?.client)
    }

    // MARK: - Adding

    mutating func add(_ exchanges: [RecordedExchange], from position: Int) {
        if position > end { drop(before: position) }
        for exchange in exchanges { add(exchange) }
    }

    private mutating func add(_ exchange: RecordedExchange) {
        let found = exchange.traces.found(in: exchange)
        let flow = flow(of: exchange, found)
        places[exchange.id] = end
        entries.append(Entry(id: exchange.id, found: found, flow: flow))
        flows[flow, default: Flow()].count += 1
        if flows[flow]?.client == nil { flows[flow]?.client = exchange.client }
        if let target = found.onward { onward[target] = flow }
        for trace in found.all { owners[trace, default: Holder(flow: flow, count: 0)].count += 1 }
        for state in found.states {
            // A state identifies a flow only until the authorization ends: many clients send the same state every time.
            var holder = states[state] ?? StateHolder(flow: "", client: nil, count: 0)
            holder.count += 1
            let goesOn = holder.flow == flow && !found.endsAuthorization
            holder.flow = found.endsAuthorization ? "" : flow
            holder.client = found.client ?? (goesOn ? holder.client : nil)
            states[state] = holder
        }
        adopt(by: exchange.id, into: flow)
    }

    private mutating func flow(of exchange: RecordedExchange, _ found: Traces.Found) -> String {
        if let parent = exchange.parent, let place = places[parent] { return entries[place - start + first].flow }
        if let flow = onward.removeValue(forKey: found.target) { return flow }
        for trace in found.request {
            if let flow = owners[trace]?.flow, flow != exchange.id { return flow }
        }
        for state in found.states {
            guard let holder = states[state], !holder.flow.isEmpty else { continue }
            // Clients that send the same state at two providers sign in twice. A request without a client continues the
            // sign-in of one that has one.
            if holder.client == nil || found.client == nil || holder.client == found.client { return holder.flow }
        }
        guard let parent = exchange.parent, RecordedExchange.number(of: parent) != nil else { return exchange.id }
        // The parent isn't recorded yet. Until then, the flow is named after it; it may turn out to belong to another
        // flow.
        if orphans.count >= FlowIndex.orphanLimit { orphans = [:] }
        orphans[parent, default: []].append(exchange.id)
        return parent
    }

    /// Adds to `flow`, the group of recorded requests that belong to one sign-in, the requests that the daemon sent to
    /// itself while it handled the request with the ID `parent`. They were recorded before that request.
    private mutating func adopt(by parent: String, into flow: String) {
        guard flow != parent, let children = orphans.removeValue(forKey: parent) else { return }
        for child in children {
            guard let place = places[child], entries[place - start + first].flow == parent else { continue }
            entries[place - start + first].flow = flow
            flows[flow, default: Flow()].count += 1
            release(parent)
            for trace in entries[place - start + first].found.all where owners[trace]?.flow == parent {
                owners[trace]?.flow = flow
            }
            for state in entries[place - start + first].found.states where states[state]?.flow == parent {
                states[state]?.flow = flow
            }
        }
        // `parent` may itself have been made for another exchange.
        if orphans[flow] != nil { orphans[flow]? += children }
    }

    // MARK: - Removing

    /// Removes the recorded requests before `position` from the index.
    mutating func drop(before position: Int) {
        while start < position, first < entries.count {
            forget(entries[first])
            first += 1
            start += 1
        }
        start = max(start, position)
        if first > 256 || first == entries.count {
            entries.removeFirst(first)
            first = 0
        }
    }

    private mutating func forget(_ entry: Entry) {
        places[entry.id] = nil
        orphans[entry.id] = nil
        release(entry.flow)
        if let target = entry.found.onward, onward[target] == entry.flow { onward[target] = nil }
        for trace in entry.found.all { FlowIndex.release(trace, from: &owners) }
        for state in entry.found.states {
            states[state]?.count -= 1
            if states[state]?.count == 0 { states[state] = nil }
        }
    }

    private mutating func release(_ flow: String) {
        flows[flow]?.count -= 1
        if flows[flow]?.count == 0 { flows[flow] = nil }
    }

    private static func release(_ trace: Int, from holders: inout [Int: Holder]) {
        holders[trace]?.count -= 1
        if holders[trace]?.count == 0 { holders[trace] = nil }
    }
}
