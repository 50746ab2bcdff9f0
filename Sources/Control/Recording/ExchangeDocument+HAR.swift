import EmulatorCore
import HTTPServer
import JSON
import Time

extension ExchangeDocument {
    /// The exchange as an entry of a HAR file: <http://www.softwareishard.com/blog/har-12-spec/#entries>
    var harEntry: JSONValue {
        let exchange = known.exchange
        let base = "https://\(exchange.host ?? "localhost")"
        let query = exchange.request.queryForm.fields.map { field -> JSONValue in
            ["name": .string(field.name), "value": .string(shown(field.value))]
        }
        var request = JSONObject([
            ("method", .string(exchange.request.method)),
            ("url", .string(base + shown(encoded: exchange.path + (exchange.request.query.map { "?\($0)" } ?? "")))),
            ("httpVersion", "HTTP/1.1"), ("cookies", []), ("headers", headers(exchange.request.headers)),
            ("queryString", .array(query)), ("headersSize", -1),
            ("bodySize", .integer(Int64(exchange.requestBodySize))),
        ])
        if !exchange.request.body.isEmpty {
            request["postData"] = [
                "mimeType": .string(exchange.request.header("Content-Type") ?? ""),
                "text": .string(
                    harText(exchange.request.body, exchange.requestBodySize, exchange.request.header("Content-Type"))),
            ]
        }
        let response: JSONValue = [
            "status": .integer(Int64(exchange.response.status)), "statusText": "", "httpVersion": "HTTP/1.1",
            "cookies": [], "headers": headers(exchange.response.headers),
            "content": [
                "size": .integer(Int64(exchange.responseBodySize)),
                "mimeType": .string(exchange.response.header("Content-Type") ?? ""),
                "text": .string(
                    harText(
                        exchange.response.body, exchange.responseBodySize, exchange.response.header("Content-Type"))),
            ],
            "redirectURL": .string(shown(encoded: exchange.response.header("Location") ?? "")), "headersSize": -1,
            "bodySize": .integer(Int64(exchange.responseBodySize)),
        ]
        let milliseconds = Double(exchange.duration) / 1000
        var entry = JSONObject([
            ("startedDateTime", .string(Instant.text(microseconds: exchange.began))),
            ("time", .number(milliseconds)), ("request", .object(request)), ("response", response), ("cache", [:]),
            ("timings", ["send": 0, "wait": .number(milliseconds), "receive": 0]),
        ])
        entry["comment"] = (diagnosis ?? note).map { .string($0) }
        return .object(entry)
    }

    private func harText(_ body: [UInt8], _ size: Int, _ type: String?) -> String {
        isWithheld ? "masked-\(size)" : shown(body: String(decoding: body, as: UTF8.self), type: type)
    }

    /// Returns a HAR file. `goesOnAfter` is the last exchange of this page, if another page follows. `worlds` makes
    /// each world a page of the archive: <http://www.softwareishard.com/blog/har-12-spec/#pages>.
    static func har(
        _ documents: [ExchangeDocument], version: String, goesOnAfter last: String?, worlds: Bool = false
    ) -> JSONValue {
        var log = JSONObject([
            ("version", "1.2"), ("creator", ["name": "Understudy", "version": .string(version)]),
        ])
        if worlds { log["pages"] = .array(pages(documents)) }
        // All entries are HTTP exchanges. A viewer skips members that begin with an underscore:
        // http://www.softwareishard.com/blog/har-12-spec/#customFields
        let mail = documents.filter { $0.known.exchange.mail != nil }
        if !mail.isEmpty { log["_mail"] = .array(mail.map(\.json)) }
        log["entries"] = .array(
            documents.filter { $0.known.exchange.mail == nil }.map { document in
                guard worlds, case .object(var entry) = document.harEntry else { return document.harEntry }
                entry["pageref"] = .string(document.known.exchange.world)
                return .object(entry)
            })
        log["comment"] = last.map { .string("there are more: ask for those after=\($0)") }
        return ["log": .object(log)]
    }

    private static func pages(_ documents: [ExchangeDocument]) -> [JSONValue] {
        var seen: Set<String> = []
        return documents.map(\.known.exchange).filter { seen.insert($0.world).inserted }.map { exchange in
            [
                "startedDateTime": .string(Instant.text(microseconds: exchange.began)), "id": .string(exchange.world),
                "title": .string("the world \(exchange.world)"), "pageTimings": [:],
            ]
        }
    }
}
