import JSON
import Testing

@testable import OpenID

@Suite("OAuth: clients that describe themselves")
struct DescribedClientsTests {
    @Test("a description is read once, and again when it has changed")
    func once() {
        let clients = DescribedClients()
        var reads = 0
        func client(_ metadata: JSONValue, id: String? = "a") -> ClientMetadata? {
            clients.client("openid.corp a", metadata) {
                reads += 1
                return id.map { ClientMetadata(reading: ["clientID": .string($0)]) }
            }
        }
        for _ in 0..<3 { #expect(client(["client_name": "A"])?.clientID == "a") }
        #expect(reads == 1)
        #expect(client(["client_name": "B"], id: nil) == nil)
        #expect(client(["client_name": "B"])?.clientID == "a")
        #expect(reads == 3)
        for number in 0..<1_000 {
            _ = clients.client("openid.corp \(number)", [:]) { ClientMetadata(reading: ["clientID": "b"]) }
        }
        #expect(clients.count <= 256)
    }
}
