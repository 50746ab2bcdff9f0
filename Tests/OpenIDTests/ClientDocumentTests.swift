import Foundation
import HTTPServer
import Synchronization
import TestSupport
import Testing

@Suite("OpenID Connect: clients that publish a document")
struct ClientDocumentTests {
    private static let address = "https://app.example/client.json"
    private static let loopback = "http://127.0.0.1:4000/callback"

    private static func seed(_ document: String) -> String {
        #""clientDocuments":{"\#(address)":\#(document)}"#
    }

    private static let plain = #"""
        {"client_id":"https://app.example/client.json","client_name":"Example App",
         "redirect_uris":["http://127.0.0.1:3000/callback","https://app.example/callback"]}
        """#

    private func request(_ client: String) -> [String: String?] {
        [
            "client_id": client, "redirect_uri": ClientDocumentTests.loopback,
            "code_challenge": OpenIDFixture.challenge, "code_challenge_method": "S256",
        ]
    }

    private func redeem(_ fixture: OpenIDFixture, _ client: String, _ code: String?) throws -> Answer {
        try fixture.token([
            "code": code, "client_id": client, "client_secret": nil, "redirect_uri": ClientDocumentTests.loopback,
            "code_verifier": OpenIDFixture.verifier,
        ])
    }

    @Test("signs in with a document of the seed, at any port of this machine")
    func seeded() throws {
        let fixture = try OpenIDFixture(issuer: ClientDocumentTests.seed(ClientDocumentTests.plain))
        let discovery = try fixture.client.get("\(fixture.base)/.well-known/openid-configuration").json
        #expect(discovery["client_id_metadata_document_supported"] as? Bool == true)
        let code = try fixture.code(request(ClientDocumentTests.address))
        let tokens = try redeem(fixture, ClientDocumentTests.address, code)
        #expect(OpenIDFixture.claims(tokens["id_token"])["aud"] as? String == ClientDocumentTests.address)
        let other = try fixture.authorize(
            request(ClientDocumentTests.address).merging(["redirect_uri": "https://other.example/"]) { $1 })
        #expect(other.status == 400)
    }

    @Test(
        "a document of the seed that can't be used is refused at the start",
        arguments: [
            (
                #"{"client_id":"https://app.example/other.json","client_name":"a","redirect_uris":["https://a.example/"]}"#,
                "its client_id is"
            ),
            (#"{"client_id":"https://app.example/client.json","redirect_uris":["https://a.example/"]}"#, "client_name"),
            (#"{"client_id":"https://app.example/client.json","client_name":"a"}"#, "redirect_uris is missing"),
        ])
    func unusable(document: String, reason: String) throws {
        let failure = #expect(throws: (any Error).self) {
            try OpenIDFixture(issuer: ClientDocumentTests.seed(document), isAlone: true)
        }
        #expect(failure.map { "\($0)" }?.contains(reason) == true, "\(failure.map { "\($0)" } ?? "")")
    }

    @Test("fetches a document from this machine, and again when it isn't fresh")
    func fetched() throws {
        let place = Mutex("")
        let receiver = try Receiver { _ in
            let body = #"""
                {"client_id":"\#(place.withLock { $0 })","client_name":"Published",
                 "redirect_uris":["http://127.0.0.1:3000/callback"]}
                """#
            return .now(
                Response(
                    status: 200, contentType: "application/json",
                    headers: [(name: "Cache-Control", value: "public, max-age=600")], body: body))
        }
        defer { receiver.stop() }
        place.withLock { $0 = receiver.url }
        let fixture = try OpenIDFixture()
        try fixture.freeze()
        let code = try fixture.code(request(receiver.url))
        #expect(try redeem(fixture, receiver.url, code).status == 200)
        #expect(receiver.requests.map(\.method) == ["GET"])
        try fixture.advance("9m")
        _ = try fixture.code(request(receiver.url))
        #expect(receiver.requests.count == 1)
        try fixture.advance("2m")
        _ = try fixture.code(request(receiver.url))
        #expect(receiver.requests.count == 2)
        let recorded = try fixture.client.get("\(OpenIDFixture.control)/requests?host=127.0.0.1").text
        #expect(recorded.contains("/events"))
    }

    @Test("a document whose end is missing isn't used")
    func cut() throws {
        let receiver = try Receiver { _ in
            var answer = Response(
                status: 200, contentType: "application/json", body: String(repeating: " ", count: 2_000))
            answer.delivery = .cut
            return .now(answer)
        }
        defer { receiver.stop() }
        let fixture = try OpenIDFixture(isAlone: true)
        let answer = try fixture.client.post(
            "\(fixture.base)/token",
            form: ["grant_type": "authorization_code", "code": "x", "client_id": receiver.url])
        #expect(receiver.requests.count == 1)
        let recorded = try fixture.client.get("\(OpenIDFixture.control)/requests?host=127.0.0.1").text
        #expect(recorded.contains("closed the connection within its answer"), "\(answer) \(recorded)")
    }

    @Test("pages of other machines can't make the daemon fetch from this one")
    func foreignPages() throws {
        let receiver = try Receiver { _ in .now(Response(status: 404)) }
        defer { receiver.stop() }
        let fixture = try OpenIDFixture(isAlone: true)
        func ask(_ headers: [String: String]) throws -> Answer {
            try fixture.client.post(
                "\(fixture.base)/token",
                form: ["grant_type": "authorization_code", "code": "x", "client_id": receiver.url], headers: headers)
        }
        for headers in [
            ["Origin": "https://evil.example"], ["Origin": "null"], ["Origin": "http://192.168.1.5:3000"],
            ["Host": "evil.example"], ["Host": "0.0.0.0"], ["Host": "[::]"], ["Host": "[::ffff:0:0]"],
            ["Host": "192.0.2.7"], ["Sec-Fetch-Site": "cross-site"],
            ["Sec-Fetch-Site": "cross-site", "Referer": "https://localhost.evil.example/"],
            ["Referer": "https://evil.example/"],
        ] {
            let answer = try ask(headers)
            #expect(answer.diagnosis.contains("pages of other machines"), "\(headers): \(answer)")
        }
        #expect(receiver.requests.isEmpty)
        for headers in [
            [:], ["Origin": "http://localhost:3000"], ["Origin": "http://app.localhost"],
            ["Sec-Fetch-Site": "same-site"],
            ["Sec-Fetch-Site": "cross-site", "Referer": "http://127.0.0.1:3000/"],
        ] { #expect(try ask(headers).diagnosis.contains("the answer has the status 404"), "\(headers)") }
    }

    @Test(
        "doesn't fetch from elsewhere, and says what to change",
        arguments: [
            ("https://unknown.example/client.json", #"add "unknown.example" to clientMetadataHosts"#),
            ("https://known.example:8443/client.json", #"add "known.example:8443" to clientMetadataHosts"#),
            ("https://other.example/client.json", #"add "other.example" to clientMetadataHosts"#),
            ("http://unknown.example/client.json", "an https URL"), ("https://unknown.example/", "no path"),
            ("https://unknown.example/a/../b", "a segment of dots"),
            ("https://unknown.example/a/%2E./b", "a segment of dots"),
            ("https://u:p@unknown.example/a", "without a user"),
            ("http://127.0.0.1:1/client.json", "can't be fetched"),
        ])
    func refused(client: String, reason: String) throws {
        let fixture = try OpenIDFixture(issuer: #""clientMetadataHosts":["known.example","other.example:8443"]"#)
        let answer = try fixture.authorize(request(client))
        #expect(answer.status == 400)
        #expect(answer.diagnosis.contains(reason), "\(answer.diagnosis)")
    }

    @Test("where they are off, says so")
    func off() throws {
        let fixture = try OpenIDFixture(issuer: #""clientMetadataDocuments":false"#)
        let answer = try fixture.authorize(request(ClientDocumentTests.address))
        #expect(answer.diagnosis.contains(#""clientMetadataDocuments": true"#))
    }

    @Test(
        "hosts in a seed are names, perhaps with a port",
        arguments: [("https://app.example", false), ("app.example/x", false), ("", false), ("app.example:8443", true)])
    func hosts(name: String, isTaken: Bool) {
        let fixture = try? OpenIDFixture(issuer: #""clientMetadataHosts":["\#(name)"]"#)
        #expect((fixture != nil) == isTaken)
    }

    @Test("whoever asks while a document is fetched waits for it", .oneProcess("each daemon fetches for itself"))
    func joined() async throws {
        let place = Mutex("")
        let receiver = try Receiver { _ in
            .later { done in
                DispatchQueue.global().asyncAfter(deadline: .now() + 0.5) {
                    done(ClientDocumentTests.published(at: place.withLock { $0 }))
                }
            }
        }
        defer { receiver.stop() }
        place.withLock { $0 = receiver.url }
        let fixture = try OpenIDFixture(isAlone: true)
        try fixture.order(["outcome": "approve", "account": "ada", "times": NSNull()])
        let path = fixture.authorizePath(request(receiver.url))
        let codes = try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<5 { group.addTask { try fixture.client.get(path).redirect["code"] } }
            return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
        }
        #expect(codes.count == 5 && !codes.contains(nil))
        #expect(receiver.requests.count == 1)
    }

    private static func published(at address: String, status: Int = 200) -> Response {
        Response(
            status: status, contentType: "application/json", headers: [(name: "Cache-Control", value: "no-store")],
            body: #"""
                {"client_id":"\#(address)","client_name":"Published","redirect_uris":["http://127.0.0.1:3000/callback"]}
                """#)
    }

    @Test(
        "a document that may not be kept, or that can't be had, is asked for once in ten seconds",
        .oneProcess("each daemon fetches for itself"))
    func rests() throws {
        let status = Mutex(500)
        let place = Mutex("")
        let receiver = try Receiver { _ in
            .now(ClientDocumentTests.published(at: place.withLock { $0 }, status: status.withLock { $0 }))
        }
        defer { receiver.stop() }
        place.withLock { $0 = receiver.url }
        let fixture = try OpenIDFixture(isAlone: true)
        try fixture.freeze()
        for _ in 0..<3 {
            #expect(try fixture.authorize(request(receiver.url)).diagnosis.contains("has the status 500"))
        }
        #expect(receiver.requests.count == 1)
        status.withLock { $0 = 200 }
        #expect(try fixture.authorize(request(receiver.url)).diagnosis.contains("has the status 500"))
        try fixture.advance("10s")
        for _ in 0..<3 { #expect(try !fixture.code(request(receiver.url)).isEmpty) }
        #expect(receiver.requests.count == 2)
        try fixture.advance("10s")
        #expect(try !fixture.code(request(receiver.url)).isEmpty)
        #expect(receiver.requests.count == 3)
        #expect(try fixture.client.request("DELETE", "\(OpenIDFixture.control)/openid/clients").status == 204)
        #expect(try !fixture.code(request(receiver.url)).isEmpty)
        #expect(receiver.requests.count == 4)
    }
}
