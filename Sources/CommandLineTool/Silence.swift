import Understudy

/// The hint for a command that has failed without any request to the daemon.
struct Silence: CustomStringConvertible {
    enum Way {
        case address
        case proxy
        case interception
    }

    let way: Way

    private var reason: String {
        switch way {
        case .address:
            "the provider's real address may be built in, where UNDERSTUDY_URL and \(Silence.variables) say another one: try "
                + "--intercept, or --proxy-port 0"
        case .proxy:
            "it may not use HTTPS_PROXY: try --intercept"
        case .interception:
            "it may ask other hosts than those that are played (\"understudy hosts\" lists them), find addresses without "
                + "/etc/hosts (DNS over HTTPS, a resolver of its own), keep to a proxy from its environment (HTTPS_PROXY), or have stopped at the certificate before it asked"
        }
    }

    private static let variables =
        Providers.variables(daemon: "").map(\.name).first { $0.hasSuffix("_BASE_URL") }.map { "\($0)…" } ?? "its like"

    var description: String {
        "no request reached the daemon, so the command failed before it asked, or asked elsewhere: \(reason). A command that runs "
            + "its clients in a container or on another machine doesn't take them along"
    }
}
