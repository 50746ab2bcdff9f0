import Control
import EmulatorCore
import HTTPServer
import JOSE
import Text

// The page GET /_understudy/try: begins a sign-in with a client of the seed that returns to /_understudy/callback.
// Query: at is the title of the provider or issuer, client the client's ID.

/// The `state` of a sign-in that somebody tries out in the inspector. It contains a random text, and the test world's
/// name because the registered redirect URI names no test world.
struct TrialState {
    private static let mark = "try~"
    let world: String
    let text: String

    init(for world: String) {
        // This isn't the world's randomness: trying a sign-in must not change the world's next code.
        var randomness = Randomness(seed: nil)
        self.init("\(TrialState.mark)\(world)~\(Hex.encode(randomness.bytes(12)))", world)
    }

    /// Parses a `state` of the inspector's own trial sign-ins; `nil` for a `state` that an app has made.
    init?(_ text: String) {
        guard text.hasPrefix(TrialState.mark), let end = text.lastIndex(ofASCII: "~") else { return nil }
        let name = text[..<end].dropFirst(TrialState.mark.count)
        guard WorldName.isValid(String(name)) else { return nil }
        self.init(text, String(name))
    }

    private init(_ text: String, _ world: String) {
        self.text = text
        self.world = world
    }

    /// The `code_verifier` of a trial sign-in. It is computed from the `state`, so that it needn't be stored.
    var verifier: String { Hex.encode(Digest.sha256("verifier of \(text)")) }
    var challenge: String { Base64URL.encode(Digest.sha256(verifier)) }
}

extension Inspector {
    static let callbackPath = "callback"

    var tryOutEndpoints: [Endpoint] {
        [page("GET", "try") { begin($0) }] + callbackEndpoints
    }

    /// Returns the redirect URI of sign-ins that are tried out in the inspector. It is at the daemon's own address and
    /// names no test world, so that a seed can register it.
    private func trialCallback(_ exchange: Exchange) -> String {
        let address = exchange.address
        return
            "\(address.scheme)://\(address.daemonName)\(address.portSuffix)\(Inspector.root)/\(Inspector.callbackPath)"
    }

    /// Returns the sign-ins that can be tried out in the inspector, at most one for each provider and issuer.
    private func trials(_ exchange: Exchange) -> [TrialSignIn] {
        let callback = trialCallback(exchange)
        var titles: Set<String> = []
        return providers.compactMap { $0 as? any OffersTrials }.flatMap { $0.trials(returningTo: callback) }
            .filter { titles.insert($0.title).inserted }
    }

    /// Returns links that begin a trial sign-in; `nil` if no client of the seed has the inspector's redirect URI.
    func tryOut(_ exchange: Exchange) -> HTML? {
        let trials = trials(exchange).prefix(12)
        guard !trials.isEmpty else { return nil }
        return .of(
            "p.row.try-out",
            .group(
                trials.map { trial in
                    exchange.link(
                        Inspector.address("try", [("at", trial.title), ("client", trial.client)]),
                        .group(["Sign in with ", ShownText.isolated(trial.title)]), "quiet")
                }))
    }

    private func begin(_ exchange: Exchange) -> Response {
        let wanted = exchange.request.queryForm
        guard let trial = trials(exchange).first(where: { $0.title == wanted["at"] && $0.client == wanted["client"] })
        else {
            let reason = "no client in the seed has registered \(trialCallback(exchange)) at this provider"
            return missing(
                exchange, .signIns, "Nothing to try", "\(reason.capitalizedFirst).", diagnosis: Diagnosis(reason))
        }
        let state = TrialState(for: exchange.world.name)
        var fields = trial.authorization.fields
        fields += [("client_id", trial.client), ("redirect_uri", trialCallback(exchange)), ("state", state.text)]
        if trial.needsPKCE {
            fields += [("code_challenge", state.challenge), ("code_challenge_method", "S256")]
        }
        let path = Inspector.address(trial.authorization.path, fields)
        return .redirect(to: "\(exchange.address.ownBase)\(path)", status: 303)
    }
}
