import Proxy
import Understudy

/// In the place of Linux's `Interception`: other systems have nothing by which one command could see another machine.
struct Interception {
    /// Why `--intercept` can't be had, and what to do in its place.
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
