import HTTPServer
import Time

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A recorded request and its answer as JSON, in the form in which daemons share them. The codes and tokens aren't
/// listed separately, because they can be found in the request and the answer.
private struct WrittenExchange: Codable {
    struct Header: Codable {
        let name: String
        let value: String
    }

    struct Mail: Codable {
        let sender: String?
        let recipients: [String]
        let user: String?
        let isSecure: Bool
        let messages: [String]
    }

    let id: String
    let parent: String?
    let world: String
    let host: String?
    let path: String
    let client: String?
    let method: String
    let target: String
    let query: String?
    let label: String?
    let isSecure: Bool
    let requestHeaders: [Header]
    let requestBody: Data
    let requestBodySize: Int
    let status: Int
    let delivery: String
    let responseHeaders: [Header]
    let responseBody: Data
    let responseBodySize: Int
    let time: Int64
    let began: Int64
    let duration: Int64
    let fault: String?
    let mail: Mail?

    init(_ exchange: RecordedExchange) {
        let (request, response) = (exchange.request, exchange.response)
        id = exchange.id
        parent = exchange.parent
        world = exchange.world
        host = exchange.host
        path = exchange.path
        client = exchange.knownClient
        method = request.method
        target = request.path
        query = request.query
        label = request.label
        isSecure = request.isSecure
        requestHeaders = request.headers.map { Header(name: $0.name, value: $0.value) }
        requestBody = Data(request.body)
        requestBodySize = exchange.requestBodySize
        status = response.status
        delivery =
            switch response.delivery {
            case .dropped: "dropped"
            case .cut: "cut"
            case .whole, .stream: "whole"
            }
        responseHeaders = response.headers.map { Header(name: $0.name, value: $0.value) }
        responseBody = Data(response.body)
        responseBodySize = exchange.responseBodySize
        time = exchange.time.milliseconds
        began = exchange.began
        duration = exchange.duration
        fault = exchange.fault
        mail = exchange.mail.map {
            Mail(
                sender: $0.sender, recipients: $0.recipients, user: $0.user, isSecure: $0.isSecure,
                messages: $0.messages)
        }
    }

    /// The recorded request and its answer; `nil` if the time or the status in the JSON is impossible.
    var exchange: RecordedExchange? {
        guard let time = Instant(milliseconds: time), status == 0 || (100...999).contains(status) else { return nil }
        var request = Request(
            method: method, target: "/", headers: requestHeaders.map { (name: $0.name, value: $0.value) },
            body: Array(requestBody), isSecure: isSecure, label: label)
        (request.path, request.query) = (target, query)
        var response = Response(
            status: status, headers: responseHeaders.map { (name: $0.name, value: $0.value) },
            body: Array(responseBody))
        if delivery == "dropped" { response.delivery = .dropped }
        if delivery == "cut" { response.delivery = .cut }
        return RecordedExchange(
            id: id, parent: parent, world: world, host: host, path: path, client: client, request: request,
            response: response, sizes: (request: requestBodySize, response: responseBodySize), time: time,
            began: began, duration: duration, fault: fault,
            mail: mail.map {
                RecordedMail(
                    sender: $0.sender, recipients: $0.recipients, user: $0.user, isSecure: $0.isSecure,
                    messages: $0.messages)
            })
    }
}

extension RecordedExchange {
    /// The recorded request and its answer as JSON, which `decoded` reads.
    package var encoded: [UInt8] { (try? JSONEncoder().encode(WrittenExchange(self))).map { Array($0) } ?? [] }

    /// Reads a recorded request and its answer from JSON. Returns `nil` for bytes that `encoded` hasn't written.
    package static func decoded(_ bytes: [UInt8]) -> RecordedExchange? {
        (try? JSONDecoder().decode(WrittenExchange.self, from: Data(bytes)))?.exchange
    }
}
