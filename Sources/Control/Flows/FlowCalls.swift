import EmulatorCore
import HTTPServer
import JSON
import Recordings
import Time

// The calls GET /_understudy/v1/flows and GET /_understudy/v1/flows/ID: sign-ins, as the inspector shows them

extension ControlAPI {
    private struct FlowQuery: SchemaObject {
        let filter: FlowFilter
        let after: String?
        let limit: Int?
        let wait: TimeSpan?
        let count: Int

        init(_ fields: inout Fields) {
            filter = FlowFilter(&fields)
            after = fields.optional(
                "after", .text(Query.id), "Only sign-ins with requests after this request ID.")
            limit = fields.optional(
                "limit", .integer(1...Recording.countLimit),
                "The maximum number of sign-ins. Without `after`, the latest are listed.")
            wait = fields.optional("wait", .wait, "The time to wait for further sign-ins.")
            count = fields(
                "count", .integer(1...Recording.countLimit), default: 1, "The number of sign-ins to wait for.")
        }
    }

    var flowCalls: [Endpoint] {
        [
            .control(
                "GET", "flows", "Lists sign-ins: the steps, the user, the client, how each ended, and why.",
                reads: .query(FlowQuery.self),
                answers: [
                    .json("The sign-ins, the most recently active last.", FlowDocument.listSchema),
                    .refusal(400, "noSuchProvider", "No provider has this name."),
                    .refusal(503, "tooManyListeners", "Too many event streams and waiting requests."),
                ]
            ) { try await flows($0, $1) },
            .control(
                "GET", "flows/:id", "Shows one sign-in.", path: ["The ID of one of the sign-in's requests."],
                answers: [
                    .json("The sign-in.", FlowDocument.schema),
                    .refusal(404, "noSuchFlow", "The recording has no such sign-in."),
                ]
            ) { try await flow($0) },
        ]
    }

    /// The approximate maximum number of bytes in one answer of `GET flows`. A client gets further sign-ins with the
    /// parameter `after`.
    private static let flowPageSize = 2 << 20

    private func flows(_ exchange: Exchange, _ query: FlowQuery) async throws -> Response {
        if let name = query.filter.provider, !providers.contains(where: { $0.name == name }) {
            let names = providers.map(\.name).joined(separator: ", ")
            return ControlAnswer.error(
                400, "noSuchProvider", "there is no provider \(Diagnosis.quote(name)): expected one of \(names)",
                path: "$.provider")
        }
        let recording = exchange.world.recording
        let reader = FlowReader(self, exchange.world)
        if let wait = query.wait {
            guard let lease = listenerLease() else { return tooManyListeners() }
            try await recording.refresh()
            let waiter = Waiter(for: exchange.world, lease, after: query.after) { fresh in
                let changed = Set(fresh.map(\.flow))
                let isNews = !reader.flows(query.filter, limit: 1) { changed.contains($0[0].flow) }.isEmpty
                return isNews && find(query, reader).count >= query.count
            }
            guard await waiter.wait(atMost: wait.duration) else { return Waiter.unread }
        }
        return try await recording.search {
            let found = find(query, reader)
            let isLatest = query.limit != nil && query.after == nil
            let wanted = isLatest ? found.suffix(query.limit ?? .max) : found.prefix(query.limit ?? .max)
            var (flows, size) = ([JSONValue](), 0)
            for flow in wanted where size < ControlAPI.flowPageSize {
                let document = FlowDocument(flow: flow, reader: reader).json
                size += document.serialized().count
                flows.append(document)
            }
            var object = JSONObject([("flows", .array(flows))])
            object["last"] = wanted.prefix(flows.count).last?.steps.last.map { .string($0.exchange.id) }
            if flows.count < found.count { object["more"] = true }
            return ControlAnswer.ok(.object(object))
        }
    }

    /// Returns the sign-ins that match the query, the most recently active last.
    private func find(_ query: FlowQuery, _ reader: FlowReader) -> [Flow] {
        let known = reader.world.recording.known().exchanges
        let later = query.after.map { id in Set(known.dropFirst(place(after: id, in: known)).map(\.exchange.id)) }
        return reader.flows(query.filter) { exchanges in
            later.map { later in exchanges.contains { later.contains($0.exchange.id) } } ?? true
        }.reversed()
    }

    private func flow(_ exchange: Exchange) async throws -> Response {
        let id = exchange.parameters["id"] ?? ""
        let reader = FlowReader(self, exchange.world)
        return try await exchange.world.recording.search {
            guard let flow = reader.flow(id) else {
                let message =
                    "no sign-in \(Diagnosis.quote(id)) is in this world's recording, which keeps only the last "
                    + "\(Recording.countLimit) requests"
                return ControlAnswer.error(404, "noSuchFlow", message)
            }
            return ControlAnswer.ok(FlowDocument(flow: flow, reader: reader).json)
        }
    }
}
