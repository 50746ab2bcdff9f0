import Foundation
import TestSupport
import Testing

@Suite("understudy serve on machines that lack something", .serialized)
struct OddMachineTests {
    /// Whether namespaces are allowed; in some containers they aren't.
    private static let mayUnshare: Bool =
        (try? Shell.run("unshare", ["--map-root-user", "--net", "ip", "link", "set", "lo", "up"]).status == 0) ?? false

    @Test(
        "::1 without 127.0.0.1 is enough, for the proxy's way to the daemon too",
        .enabled(if: mayUnshare, "network namespaces aren't allowed here, or iproute2 is missing"))
    func onlyV6() throws {
        let folder = try Folder()
        #expect(try Tool.run("ca", "init", "--ca-directory", folder.path).status == 0)
        let script = """
            ip link set lo up
            ip address del 127.0.0.1/8 dev lo
            \(Tool.path) serve --port 9099 --proxy-port 9098 --ca-directory \(folder.path) >&2 &
            for attempt in $(seq 3000); do
                curl -g -s -f 'http://[::1]:9099/_understudy/v1/health' && break
                sleep 0.1
            done
            curl -g -s -f --retry 60 --retry-delay 1 --retry-connrefused --noproxy '' -x 'http://[::1]:9098' http://appleid.apple.com/auth/keys
            kill $!
            wait $!
            echo " status $?"
            """
        // A database can't be reached from this namespace.
        let result = try Shell.run(
            "unshare", ["--map-root-user", "--net", "sh", "-c", script], environment: ["UNDERSTUDY_STORE": "memory"])
        #expect(result.output.contains(#""status":"ok""#), "\(result)")
        #expect(result.output.contains("SEEDkey001"), "\(result)")
        #expect(result.output.hasSuffix(" status 0\n"), "\(result)")
    }

    @Test("with few file descriptors it hears again when others have closed, and says that it was full")
    func fewDescriptors() throws {
        let process = Process()
        let (output, errors) = (Pipe(), Pipe())
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", "ulimit -n 64; exec '\(Tool.path)' serve --port 0"]
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        let port = Int(line.trimmingCharacters(in: .newlines).split(separator: ":").last ?? "") ?? 0
        var wires: [Wire] = []
        for _ in 0..<200 {
            let wire = try Wire(port: port)
            wire.send("GET / HTTP/1.1\r\nHost: localhost")
            wires.append(wire)
        }
        // The daemon answers while the connections are open, and after they have been closed.
        for _ in 0..<20 { #expect(try TestClient(port: port).get("/_understudy/v1/health").status == 200) }
        wires.removeAll()
        #expect(try TestClient(port: port).get("/_understudy/v1/health").status == 200)
        // The line about them is logged at the next check, several times a second.
        var told = ""
        while !told.contains("ulimit -n") {
            let data = errors.fileHandleForReading.availableData
            if data.isEmpty { break }
            told += String(decoding: data, as: UTF8.self)
        }
        kill(process.processIdentifier, SIGTERM)
        told += String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        #expect(told.components(separatedBy: "ulimit -n").count == 2, "\(told)")
    }
}
