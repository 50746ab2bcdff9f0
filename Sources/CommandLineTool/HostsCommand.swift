import ArgumentParser
import Platform
import Understudy

struct HostsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hosts", abstract: "Print lines for a hosts file: every provider host, at the daemon's address.")

    @Option(help: "The daemon's address.")
    var address = "127.0.0.1"

    @Option(
        name: .customLong("seed"),
        help: ArgumentHelp("Seed files, whose Firebase projects have hosts, too.", valueName: "path"),
        completion: .file())
    var seeds: [String] = []

    func validate() throws {
        var (v4, v6) = (in_addr(), in6_addr())
        guard inet_pton(AF_INET, address, &v4) == 1 || inet_pton(AF_INET6, address, &v6) == 1 else {
            throw ValidationError("--address must be an IP address.")
        }
    }

    func run() throws {
        do {
            for host in try PlayedHosts.names(seeds: seeds.isEmpty ? [.builtIn] : seeds.map { .path($0) }) {
                Terminal.print("\(address) \(host)")
            }
        } catch {
            Terminal.complain("understudy: \(error)")
            throw ExitCode(1)
        }
    }
}
