import Apple
import Google
import HTTPServer
import JOSE
import JSON
import TestSupport
import Testing
import Understudy
@testable import Worlds

@testable import EmulatorCore

/// A network without other providers, whose log is ignored.
private final class NoNetwork: Network {
    func world(thatIssued text: String, besides world: World) -> String? { nil }

    func plays(_ host: String, in world: World) -> Bool { false }
    func send(_ request: Request, from parent: String) -> Reply { .now(Response(status: 404)) }
    func holds(_ world: World) -> Bool { true }
    func log(_ message: String, detail: String, for exchange: Exchange) {}
    func makeID() -> String { "r0" }
    var controlToken: ControlToken? { nil }
}

/// A world whose keys can't sign with RS256. No seed can have such keys.
private struct BrokenWorld {
    let providers: [any Provider]
    let world: World
    private let network = NoNetwork()

    init(_ seed: String) throws {
        let seed = try SeedInput.load([.builtIn, .json(seed)])
        let key = try Key(pem: Array(try Repository.read("seed-data/keys/AuthKey_ABC123DEFG.p8").utf8))
        let keys = KeyRings.seeded(seed).map { declared, _ in
            (declared, [KeyGenerator.NamedKey(id: "wrong", algorithm: .rs256, key: key)])
        }
        world = World(
            name: "default", seed: seed, keys: keys, generator: .ofTests, budget: ProcessBudget(),
            store: WorldStore("default", seed))
        providers = [AppleProvider(seed: seed), GoogleProvider(seed: seed)]
    }

    func send(
        _ method: String, _ host: String?, _ path: String, _ form: [String: String] = [:], json: String? = nil
    ) async throws -> Response {
        let place = host.map { "/\($0)" } ?? ""
        let isQuery = method == "GET"
        let target = "\(place)\(path)\(isQuery ? "?" + TestClient.encode(form) : "")"
        let type = json == nil ? "application/x-www-form-urlencoded" : "application/json"
        let request = Request(
            method: method, target: target,
            headers: [(name: "Host", value: "localhost"), (name: "Content-Type", value: type)],
            body: isQuery ? [] : Array((json ?? TestClient.encode(form)).utf8))
        let endpoint = try #require(
            providers.flatMap(\.endpoints).first {
                $0.method == method && $0.path == path && (host.map($0.hosts.contains) ?? $0.hosts.isEmpty)
            })
        let address = Address(request, in: try NamedWorld(request) { _, _ in false }) { $0 == host }
        let reply = endpoint.run(
            Exchange(request: request, address: address, world: world, id: "r1", network: network),
            or: { ($0 as? any AnswerableError)?.response ?? Response(status: 599) })
        return await withCheckedContinuation { continuation in
            reply.deliver(Completion { continuation.resume(returning: $0) })
        }
    }
}

/// Returns the parameters of a redirect.
private func redirected(_ response: Response) -> [String: String] {
    let location = response.header("Location") ?? ""
    let query = location.split(maxSplits: 1, whereSeparator: { "?#".contains($0) }).last.map(String.init) ?? ""
    return Dictionary(
        Form(parsing: query).fields.map { ($0.name, $0.value) },
        uniquingKeysWith: { first, _ in first })
}

@Suite("A signature that fails")
struct FailedSignatureTests {
    @Test("at Apple's token endpoint is an error of Apple's form")
    func appleToken() async throws {
        let client = "com.example.web.auto"
        let broken = try BrokenWorld("{}")
        let authorized = try await broken.send(
            "GET", AppleProvider.host, "/auth/authorize",
            [
                "client_id": client, "redirect_uri": "https://example.com/callback", "response_type": "code",
                "state": "s",
            ])
        let code = try #require(redirected(authorized)["code"], "\(authorized)")
        let answer = try await broken.send(
            "POST", AppleProvider.host, "/auth/token",
            [
                "client_id": client, "client_secret": try AppleFixture.secret(for: client), "code": code,
                "grant_type": "authorization_code", "redirect_uri": "https://example.com/callback",
            ])
        #expect(answer.status == 500)
        #expect(String(decoding: answer.body, as: UTF8.self) == #"{"error":"server_error"}"#)
        #expect(answer.header("Understudy-Diagnosis")?.contains("be signed") ?? false)
    }

    @Test("at Apple's authorize endpoint goes back to the client")
    func appleAuthorization() async throws {
        let broken = try BrokenWorld("{}")
        let answer = try await broken.send(
            "GET", AppleProvider.host, "/auth/authorize",
            [
                "client_id": "com.example.web.auto", "redirect_uri": "https://example.com/callback",
                "response_type": "code id_token", "response_mode": "fragment", "nonce": "n", "state": "s",
            ])
        #expect(redirected(answer)["error"] == "server_error", "\(answer)")
        #expect(answer.header("Understudy-Diagnosis")?.isEmpty == false)
    }

    @Test("of a notification is told, and isn't a missing notificationsURL")
    func notification() async throws {
        let broken = try BrokenWorld(
            #"{"apple":{"teams":[{"id":"A1B2C3D4E5","notificationsURL":"http://127.0.0.1:9/"}]}}"#)
        let client = "com.example.web.auto"
        _ = try await broken.send(
            "GET", AppleProvider.host, "/auth/authorize",
            [
                "client_id": client, "redirect_uri": "https://example.com/callback", "response_type": "code",
                "state": "s",
            ])
        let answer = try await broken.send(
            "POST", nil, "/_understudy/v1/apple/notifications",
            json: #"{"type":"consent-revoked","account":"ada","client":"\#(client)"}"#)
        #expect(answer.status == 500)
        #expect(String(decoding: answer.body, as: UTF8.self).contains("\"signing\""), "\(answer)")
    }

    @Test("at Google doesn't leave the ID token out", arguments: ["code", "id_token"])
    func google(responseType: String) async throws {
        let client = "example.apps.googleusercontent.com"
        let broken = try BrokenWorld(
            #"{"outcomes":[{"provider":"google","outcome":"approve","account":"ada"}]}"#)
        let authorized = try await broken.send(
            "GET", GoogleProvider.host, "/o/oauth2/v2/auth",
            [
                "client_id": client, "redirect_uri": "http://localhost:3000/callback", "response_type": responseType,
                "scope": "openid email", "nonce": "n", "state": "s",
            ])
        guard responseType == "code" else {
            #expect(redirected(authorized)["error"] == "server_error", "\(authorized)")
            return
        }
        let code = try #require(redirected(authorized)["code"], "\(authorized)")
        let answer = try await broken.send(
            "POST", GoogleProvider.tokenHost, "/token",
            [
                "client_id": client, "client_secret": "google-secret-for-tests", "code": code,
                "grant_type": "authorization_code", "redirect_uri": "http://localhost:3000/callback",
            ])
        #expect(answer.status == 500)
        #expect(String(decoding: answer.body, as: UTF8.self) == #"{"error":"internal_failure"}"#)
        #expect(answer.header("Understudy-Diagnosis")?.isEmpty == false)
    }
}
