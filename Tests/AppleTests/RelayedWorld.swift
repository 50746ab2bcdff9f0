import EmulatorCore
import TestSupport
import Testing
import Understudy

@testable import Apple

/// A world in which Grace hides her address from two teams, and from one of them in two apps.
struct RelayedWorld {
    static let seed = """
        {"accounts":[{"id":"grace","email":"Grace@example.org"}],
         "apple":{"teams":[
          {"id":"TEAMAAAAAA","apps":[{"bundleID":"a.one"},{"bundleID":"a.two"}],
           "relay":{"senders":["News@partner.example"],"domains":["example.com"]}},
          {"id":"TEAMBBBBBB","apps":[{"bundleID":"b.one"}],"relay":{"domains":["other.example"]}},
          {"id":"TEAMCCCCCC","apps":[{"bundleID":"c.one"}]}]}}
        """

    let world: World
    let provider: AppleProvider
    let address = AppleIdentifiers.relayAddress(account: "grace", team: "TEAMAAAAAA")
    let otherAddress = AppleIdentifiers.relayAddress(account: "grace", team: "TEAMBBBBBB")

    init() throws {
        let seed = try SeedInput.load([.json(RelayedWorld.seed)])
        world = WorldRegistry(seed: seed, generator: .ofTests).main
        provider = AppleProvider(seed: seed)
        for app in ["a.one", "a.two", "b.one", "c.one"] { try consent(to: app) }
    }

    func consent(to app: String) throws {
        let client = try #require(provider.directory.clients[app])
        try world.update { _ = $0.consent("grace", to: client, scopes: [.email], sharesEmail: false) }
    }

    func grant(_ app: String) throws -> AppleGrant {
        let client = try #require(provider.directory.clients[app])
        return try #require(world.read { $0.grant("grace", to: client) })
    }

    private func transit(from sender: String, to recipient: String?, _ content: ReceivedContent?) -> MailInTransit {
        MailInTransit(in: world, from: sender, to: recipient ?? address, content: content)
    }

    /// Returns the relay's verdict about a mail, or about its envelope alone if there is neither a header nor content.
    func verdict(from sender: String, to recipient: String? = nil, header: String? = nil) throws -> String {
        let content = header.map { Array("\($0.replacing("\n", with: "\r\n"))\r\nHi.\r\n".utf8) }
        let mail = transit(from: sender, to: recipient, content.map { ReceivedContent($0) })
        switch try provider.relay(mail) {
        case nil: return "not ours"
        case .accepted: return "accepted"
        case .forwarded(let mail): return "forwarded to \(mail.recipient)"
        case .refused(let refusal):
            return "\(refusal.code) \(refusal.status ?? "") \(refusal.text) | \(refusal.diagnosis.line)"
        case .lost(let diagnosis): return "lost | \(diagnosis.line)"
        }
    }

    func forwarded(from sender: String, to recipient: String? = nil, header: String) throws -> ForwardedMail {
        let raw = Array("\(header.replacing("\n", with: "\r\n"))\r\nHi.\r\n".utf8)
        let mail = transit(from: sender, to: recipient, ReceivedContent(raw))
        guard case .forwarded(let forwarded) = try provider.relay(mail) else {
            throw TransportError(reason: try verdict(from: sender, to: recipient, header: header))
        }
        return forwarded
    }
}
