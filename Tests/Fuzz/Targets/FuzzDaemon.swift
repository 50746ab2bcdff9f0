import Foundation
import HTTPServer
import JOSE
import JSON
import EmulatorCore
import Recordings
import Synchronization
import Understudy

/// A daemon without sockets that uses the built-in seed. Every answer is checked by `AnswerRules`.
final class FuzzDaemon: Sendable {
    static let control = "/_understudy/v1"
    static let authority = "localhost:9099"
    private static let made = Result { try FuzzDaemon() }
    static var shared: FuzzDaemon { get throws { try made.get() } }

    /// The limit of a request's processor time, in seconds. A request over it is a finding. The script that runs the
    /// fuzzers sets it; without it, as in tests, no time is measured.
    static let costLimit = ProcessInfo.processInfo.environment["UNDERSTUDY_FUZZ_COST"].flatMap(Double.init)

    /// The generator of the keys of all daemons that are fuzzed.
    static let keyGenerator = KeyGenerator()

    let catalog: EndpointCatalog
    /// The key that the seed's Apple clients sign with.
    let clientKey: Key
    private let dispatcher: Dispatcher
    private let worlds: WorldRegistry
    private let uses = Mutex(SingleUses())
    /// Whether broken JSON has been ordered since the last reset.
    private let mayBeMalformed = Mutex(false)

    /// A seed that fixes the random generator, so that an input gets the same codes and texts at every run.
    private static let fixed = #"{"randomSeed": "fuzz"}"#

    private init() throws {
        let seed = try SeedInput.load([.builtIn, .json(FuzzDaemon.fixed)])
        worlds = WorldRegistry(seed: seed, generator: FuzzDaemon.keyGenerator)
        dispatcher = try Composition.dispatcher(seed, worlds, RunningServer.Options())
        catalog = Composition.catalog(for: seed)
        // The seed's only private P-256 key is the one with which Firebase signs Apple's client secrets.
        guard let key = seed.keys.values.first(where: { $0.kind == .p256 && $0.isPrivate }) else {
            throw Finding("the built-in seed has no key for client secrets")
        }
        clientKey = key
    }

    /// Brings the daemon back to the state in which it has just started.
    func reset() throws {
        for entry in worlds.all where entry.world.name != WorldRegistry.defaultName {
            _ = try worlds.drop(entry.world.name)
        }
        try worlds.main.reset()
        uses.withLock { $0 = SingleUses() }
        mayBeMalformed.withLock { $0 = false }
    }

    /// Sends a request, and checks the answer. Returns `nil` if there is no answer after 50 milliseconds.
    @discardableResult
    func send(_ request: Request) throws -> Response? {
        if request.body.firstRange(of: Array("malformedJSON".utf8)) != nil { mayBeMalformed.withLock { $0 = true } }
        let began = FuzzDaemon.processorTime
        let response: Response?
        switch dispatcher.handle(request) {
        case .now(let answer): response = answer
        case .later(let start):
            let waiting = Waiting()
            let completion = Completion { waiting.settle($0) }
            start(completion)
            response = waiting.wait(seconds: 0.05)
            // The request is abandoned, as when a client closes its connection.
            if response == nil { completion.abandon() }
        }
        if let limit = FuzzDaemon.costLimit {
            let cost = FuzzDaemon.processorTime - began
            try require(
                cost < limit, "\(request.method) \(request.path) of \(request.body.count) bytes costs \(cost) s")
        }
        guard let response else { return nil }
        try AnswerRules.check(response, to: request, mayBeMalformed: mayBeMalformed.withLock { $0 })
        try uses.withLock { uses throws in try uses.check(request, response) }
        return response
    }

    @discardableResult
    func send(
        _ method: String, _ target: String, headers: [(name: String, value: String)] = [], _ body: [UInt8] = []
    ) throws -> Response? {
        let host = (name: "Host", value: FuzzDaemon.authority)
        let hasHost = headers.contains { $0.name.lowercased() == "host" }
        return try send(Request(method: method, target: target, headers: (hasHost ? [] : [host]) + headers, body: body))
    }

    @discardableResult
    func post(_ target: String, json: JSONValue) throws -> Response? {
        try send("POST", target, headers: [(name: "Content-Type", value: "application/json")], json.serialized())
    }

    @discardableResult
    func post(_ target: String, form: [(String, String)]) throws -> Response? {
        let fields = form.map { Form.Field(name: $0.0, value: $0.1) }
        return try send(
            "POST", target, headers: [(name: "Content-Type", value: "application/x-www-form-urlencoded")],
            Array(Form(fields: fields).encoded.utf8))
    }

    @discardableResult
    func control(_ call: String, _ body: JSONValue) throws -> Response? {
        try post("\(FuzzDaemon.control)/\(call)", json: body)
    }

    /// Makes a JSON Web Token of any header and claims, signed with the key of Apple's clients.
    func signed(header: [UInt8], claims: [UInt8]) throws -> String {
        let input = Base64URL.encode(header) + "." + Base64URL.encode(claims)
        return input + "." + Base64URL.encode(try clientKey.sign(Array(input.utf8), with: .es256))
    }

    /// Makes a valid client secret for Apple.
    func clientSecret(for client: String = "com.example.web") throws -> String {
        let now = worlds.main.now.seconds
        let claims: JSONValue = [
            "iss": "A1B2C3D4E5", "iat": .integer(now), "exp": .integer(now + 3600),
            "aud": "https://appleid.apple.com", "sub": .string(client),
        ]
        return try signed(
            header: Array(#"{"alg":"ES256","kid":"ABC123DEFG"}"#.utf8), claims: claims.serialized())
    }

    private static var processorTime: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

/// A response that another thread delivers, possibly after the wait has ended.
private final class Waiting: Sendable {
    private let response = Mutex<Response?>(nil)
    private let semaphore = DispatchSemaphore(value: 0)

    func settle(_ response: Response) {
        self.response.withLock { $0 = response }
        semaphore.signal()
    }

    func wait(seconds: Double) -> Response? {
        _ = semaphore.wait(timeout: .now() + seconds)
        return response.withLock { $0 }
    }
}

extension Response {
    var json: JSONValue? { try? JSONValue(parsing: body) }
}
