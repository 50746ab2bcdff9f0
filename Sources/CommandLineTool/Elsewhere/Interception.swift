import Proxy
import Understudy

/// Refuses the option `--intercept` on systems other than Linux, which have no way to change the hosts file for a
/// single command.
struct Interception {
    /// The reason why the option `--intercept` isn't available on this system, with alternatives.
    static let obstacle: String? = """
        --intercept needs Linux's namespaces, which this system doesn't have. For one command, use the proxy: \
        "understudy exec --proxy-port 0 -- COMMAND"; or let the app ask the daemon under its own address, as in \
        UNDERSTUDY_URL. For the whole machine: add the lines of "understudy hosts" to /etc/hosts, run \
        "sudo understudy serve --port 80 --tls-port 443", and trust the authority ("understudy ca install-hint").
        """

    let address: String
    let isIsolated: Bool
    let portObstacle: PortObstacle?
    let outside: NetworkSockets?

    init(
        hosts: [String], bundle: String, directory: String, isolated: Bool, store: BrowserStore?, shares: Bool
    ) throws {
        throw LocalAuthority.Failure(Interception.obstacle ?? "")
    }
}
