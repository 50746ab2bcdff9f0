import Platform
import HTTPServer
import Synchronization
import TestSupport
import Testing

@testable import Proxy

@Suite("The proxy's limits")
struct ProxyLimitTests {
    @Test("connections above the limit are refused with a word, and told once in the log")
    func refusal() throws {
        let told = Mutex<[String]>([])
        let server = try Server(Server.Options()) { _ in .now(Response(status: 204)) }
        var options = ProxyServer.Options()
        options.tunnelLimit = 3
        options.tlsPort = server.port
        options.plays = { $0 == "played.example.com" }
        options.warn = { line in told.withLock { $0.append(line) } }
        let proxy = try ProxyServer(options)
        defer { proxy.stop() }
        var kept = try (0..<3).map { _ in
            let wire = try Wire(port: Int(proxy.port))
            wire.send("CONNECT played.example.com:443 HTTP/1.1\r\n\r\n")
            #expect(try wire.receive().status == 200)
            return wire
        }
        for _ in 0..<5 {
            let answer = try Wire(port: Int(proxy.port)).receive()
            #expect(answer.status == 503)
            #expect(answer.header("Understudy-Diagnosis")?.contains("all 3 tunnels of the proxy are in use") ?? false)
        }
        #expect(eventually { told.withLock { $0.count } == 1 })
        kept.removeAll()
        let next = try answered(by: proxy)
        #expect(next.status == 403)
    }

    @Test("clients that send nothing make room for others, and are told so")
    func silence() throws {
        var options = ProxyServer.Options()
        options.tunnelLimit = 3
        let proxy = try ProxyServer(options)
        defer { proxy.stop() }
        let silent = try (0..<10).map { _ in try Wire(port: Int(proxy.port)) }
        let wire = try Wire(port: Int(proxy.port))
        wire.send("CONNECT example.com:443 HTTP/1.1\r\n\r\n")
        #expect(try wire.receive().status == 403)
        let refusal = try silent[0].receive()
        #expect(refusal.status == 503)
        #expect(refusal.header("Understudy-Diagnosis")?.contains("client sent no request") ?? false)
    }

    @Test("an address of another machine may have fewer connections; loopback may not", .enabled(if: ownAddress != nil))
    func address() throws {
        let own = try #require(ownAddress)
        var options = ProxyServer.Options()
        options.host = "0.0.0.0"
        options.tunnelLimitPerAddress = 2
        let proxy = try ProxyServer(options)
        defer { proxy.stop() }
        var kept = try (0..<2).map { _ in try Wire(port: Int(proxy.port), host: own) }
        let refused = try Wire(port: Int(proxy.port), host: own).receive()
        #expect(refused.status == 503)
        #expect(refused.header("Understudy-Diagnosis")?.contains("2 tunnels from this address are in use") ?? false)
        let local = try (0..<3).map { _ in try Wire(port: Int(proxy.port)) }
        for wire in local {
            wire.send("CONNECT example.com:443 HTTP/1.1\r\n\r\n")
            #expect(try wire.receive().status == 403)
        }
        kept.removeAll()
        #expect(
            try eventually {
                let wire = try Wire(port: Int(proxy.port), host: own)
                wire.send("CONNECT example.com:443 HTTP/1.1\r\n\r\n")
                return try wire.receive().status == 403
            })
    }

    /// Returns the first answer that isn't a refusal for too many tunnels. Closed connections may still count for a
    /// moment.
    private func answered(by proxy: ProxyServer) throws -> Answer {
        var answer: Answer?
        _ = try eventually {
            let wire = try Wire(port: Int(proxy.port))
            wire.send("CONNECT example.com:443 HTTP/1.1\r\n\r\n")
            answer = try wire.receive()
            return answer?.status != 503
        }
        return try #require(answer)
    }

    @Test("a header that doesn't become whole is refused, however slowly its bytes come")
    func slowHeader() throws {
        var options = ProxyServer.Options()
        options.headerSeconds = 1
        let proxy = try ProxyServer(options)
        defer { proxy.stop() }
        let wire = try Wire(port: Int(proxy.port))
        for _ in 0..<15 {
            wire.send("C")
            usleep(100_000)
        }
        #expect(try wire.receive().status == 408)
    }

    @Test("a header that is too large is refused")
    func largeHeader() throws {
        let proxy = try ProxyServer(ProxyServer.Options())
        defer { proxy.stop() }
        let large = try Wire(port: Int(proxy.port))
        large.send(String(repeating: "x", count: 40_000))
        #expect(try large.receive().status == 431)
    }

    @Test("a tunnel through which nothing goes is closed")
    func idle() throws {
        let server = try Server(Server.Options()) { _ in .now(Response(status: 204)) }
        var options = ProxyServer.Options()
        options.idleSeconds = 1
        options.tlsPort = server.port
        options.plays = { _ in true }
        let proxy = try ProxyServer(options)
        defer { proxy.stop() }
        let wire = try Wire(port: Int(proxy.port))
        wire.send("CONNECT example.com:443 HTTP/1.1\r\n\r\n")
        #expect(try wire.receive().status == 200)
        #expect(wire.isClosed)
    }
}
