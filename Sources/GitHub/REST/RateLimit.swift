import EmulatorCore
import Time

// Rate limits: https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api
// A person has so many requests an hour over all apps; whoever sends no token has few. The hour begins with the first
// request of it, by the world's clock.

/// How much of an hour's requests is used.
struct RateStatus: Sendable {
    let limit: Int
    let used: Int
    /// Seconds since 1970.
    let resetsAt: Instant

    /// Whether the request itself was one too many.
    var isRefused = false

    var remaining: Int { max(0, limit - used) }

    func append(to headers: inout [(name: String, value: String)]) {
        headers += [
            (name: "X-RateLimit-Limit", value: String(limit)),
            (name: "X-RateLimit-Remaining", value: String(remaining)),
            (name: "X-RateLimit-Reset", value: String(resetsAt.seconds)),
            (name: "X-RateLimit-Used", value: String(used)),
            (name: "X-RateLimit-Resource", value: "core"),
        ]
    }
}

extension GitHubProvider {
    func rate(of viewer: Viewer, in world: World) -> RateStatus {
        let key = rateKey(viewer)
        let limit = rateLimit(viewer)
        return world.update { state in
            let now = state.clock.now
            guard let rate = state[GitHubState.self].rates[key], rate.resetsAt > now else {
                return RateStatus(limit: limit, used: 0, resetsAt: now + GitHubState.hour)
            }
            return RateStatus(limit: limit, used: rate.used, resetsAt: rate.resetsAt)
        }
    }

    /// Counts a request, unless there is none left.
    func spend(_ viewer: Viewer, in world: World) -> RateStatus {
        let key = rateKey(viewer)
        let limit = rateLimit(viewer)
        return world.update { state in
            let now = state.clock.now
            var rate = state[GitHubState.self].rates[key] ?? GitHubState.Rate(resetsAt: .first)
            if rate.resetsAt <= now { rate = GitHubState.Rate(resetsAt: now + GitHubState.hour) }
            let isRefused = rate.used >= limit
            if !isRefused {
                rate.used += 1
                state[GitHubState.self].rates[key] = rate
            }
            return RateStatus(limit: limit, used: rate.used, resetsAt: rate.resetsAt, isRefused: isRefused)
        }
    }

    /// Takes a counted request back.
    func refund(_ viewer: Viewer, in world: World) -> RateStatus {
        let key = rateKey(viewer)
        world.update { state in
            guard let rate = state[GitHubState.self].rates[key], rate.used > 0 else { return }
            state[GitHubState.self].rates[key]?.used -= 1
        }
        return rate(of: viewer, in: world)
    }

    private func rateLimit(_ viewer: Viewer) -> Int {
        if case .anonymous = viewer { return settings.anonymousRateLimit }
        return settings.rateLimit
    }

    private func rateKey(_ viewer: Viewer) -> String {
        switch viewer {
        case .anonymous: ""
        case .app(let app): "app:\(app.clientID)"
        case .person(let account, _, _): "person:\(account.id)"
        }
    }
}
