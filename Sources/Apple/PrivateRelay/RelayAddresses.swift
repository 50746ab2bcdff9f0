import EmulatorCore
import JOSE
import OAuth

/// A person who hides behind a relay address.
struct HiddenPerson: Sendable {
    let account: Account
    let team: String
    /// The relay address.
    let address: String
    /// Whether mail is forwarded. The address doesn't show which of the team's apps the mail is about, so it is
    /// forwarded as long as the person wants it from one of them.
    let forwardsMail: Bool
}

/// A relay address that stands for a sender who has written to a hidden person, so that the person can answer.
struct RelayedSender: Row {
    static let table = Table<RelayedSender>("apple.relayedSender", limit: 10_000)

    /// The address, in lower case.
    let key: String
    /// The sender's address.
    let sender: String
    /// The relay address of the person.
    let relayAddress: String

    /// Makes an address as recipients see it: `noreply_at_example_com_dpdcnf87nu_918e97ce@privaterelay.appleid.com`,
    /// made of the sender, the relay address and eight hexadecimal digits. How Apple makes these and shortens long ones
    /// isn't documented.
    init(_ sender: String, to relayAddress: String) {
        self.sender = sender
        self.relayAddress = relayAddress
        let domain = RegisteredSources.domain(of: sender)
        let local = domain.isEmpty ? sender : String(sender.dropLast(domain.count + 1))
        let hidden = relayAddress.prefix { $0 != "@" }
        let digits = Hex.encode(Digest.sha256("apple:relayed:\(relayAddress):\(sender.lowercased())")).prefix(8)
        let end = "_\(hidden)_\(digits)"
        // The local part has at most 64 bytes: https://www.rfc-editor.org/rfc/rfc5321#section-4.5.3.1.1.
        let begin = RelayedSender.plain("\(local)_at_\(domain)").prefix(64 - end.utf8.count)
        key = begin + end + AppleIdentifiers.relayDomain
    }

    /// Returns the text in lower case, with an underscore for all but letters, digits and hyphens.
    private static func plain(_ text: String) -> String {
        let bytes = text.utf8.map { byte -> UInt8 in
            switch byte {
            case 0x41...0x5A: byte | 0x20
            case 0x61...0x7A, 0x30...0x39, UInt8(ascii: "-"): byte
            default: UInt8(ascii: "_")
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// The recipient of mail to a relay address.
enum RelayAddressee: Sendable {
    case person(HiddenPerson)
    /// The app that has written before: the person answers it.
    case app(Reply)
    /// No one. `endedBy` is the account that had the address before.
    case nobody(endedBy: String?)

    struct Reply: Sendable {
        let person: HiddenPerson
        /// The address of the app that has written before.
        let sender: String
    }
}

extension TableReading where Self: ~Copyable {
    /// Returns the recipient of mail to `address`, which is in lower case.
    func addressee(_ address: String) -> RelayAddressee {
        if let person = hiddenPerson(address) { return .person(person) }
        guard let sender = find(RelayedSender.self, address) else { return .nobody(endedBy: formerAccount(address)) }
        guard let person = hiddenPerson(sender.relayAddress) else {
            return .nobody(endedBy: formerAccount(sender.relayAddress))
        }
        return .app(RelayAddressee.Reply(person: person, sender: sender.sender))
    }

    private func hiddenPerson(_ address: String) -> HiddenPerson? {
        let grants = rows(AppleGrant.byRelayAddress, address)
        guard let grant = grants.first, let account = account(grant.account) else { return nil }
        return HiddenPerson(
            account: account, team: grant.team, address: address, forwardsMail: grants.contains(where: \.forwardsMail))
    }

    private func formerAccount(_ address: String) -> String? {
        first(EndedGrant.byRelayAddress, address)?.account
    }
}
