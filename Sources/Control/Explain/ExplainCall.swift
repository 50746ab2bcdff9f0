import EmulatorCore
import HTTPServer
import JSON

// POST /_understudy/v1/explain: what a token, a client secret, a nonce or a callback is, and what is wrong with it

extension ControlAPI {
    private struct ExplainRequest: SchemaObject {
        let value: String
        let rawNonce: String?

        init(_ fields: inout Fields) {
            value = fields("value", .text(.token), "A token, a client secret, a code, a nonce or a callback URL.")
            rawNonce = fields.nullable("rawNonce", .text(.any), "The text whose SHA-256 a token's nonce should be.")
        }
    }

    func explain(_ exchange: Exchange) async -> Response {
        let body: ExplainRequest
        do throws(ControlRefusal) { body = try exchange.body(ExplainRequest.self) } catch { return error.response }
        guard body.value.utf8.count <= PastedValue.limit else {
            let message = "\(body.value.utf8.count) bytes; \(PastedValue.limit) are read at most"
            return ControlAnswer.error(400, "tooLong", message, path: "$.value")
        }
        let explained = await explain(body.value, rawNonce: body.rawNonce, in: exchange.world)
        return ControlAnswer.ok([
            "kind": .string(explained.kind), "sound": .bool(explained.isSound),
            "parts": .array(explained.parts.map(\.document)),
        ])
    }

    /// What a world knows of a value that a person has given.
    package func explain(_ value: String, rawNonce: String?, in world: World) async -> PastedValue {
        let reader = ValueReader(world, by: self)
        return await world.recording.search { reader.explain(value, rawNonce: rawNonce) }
    }
}

extension ExplainedPart {
    fileprivate var document: JSONValue {
        let findings = findings.map { finding -> JSONValue in
            var object = JSONObject([
                ("holds", finding.holds.map { .bool($0) } ?? .null), ("text", .string(finding.text)),
            ])
            object["request"] = finding.exchange.map { .string($0) }
            return .object(object)
        }
        return ["heading": .string(heading), "findings": .array(findings)]
    }
}
