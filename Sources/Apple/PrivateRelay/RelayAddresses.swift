import EmulatorCore
import JOSE
import OAuth

/// Somebody who hides behind an address of the relay.
struct HiddenPerson: Sendable {
    let account: Account
    let team: String
    /// At the relay.
    let address: String
    /// Mail to the address can't say for which of the team's apps it is: it is forwarded as long as the person wants it from one.
    let forwardsMail: Bool
}

/// An address of the relay that stands for somebody who has written to a hidden person, so that the person can answer.
struct RelayedSender: Row {
    static let table = Table<RelayedSender>("apple.relayedSender", limit: 10_000)

    /// The address, in lower case.
    let key: String
    /// Who has written.
    let sender: String
    /// Behind which of the relay's addresses the person hides.
    let relayAddress: String

    /// As people see it who get such mails: `noreply_at_example_com_dpdcnf87nu_918e97ce@privaterelay.appleid.com`, made of the sender,
    /// the hidden address and eight hexadecimal digits. How Apple makes these and shortens long ones isn't documented.
    init(_ sender: String, to relayAddress: String) {
        self.sender = sender
        self.relayAddress = relayAddress
        let domain = RegisteredSources.domain(of: sender)
        let local = domain.isEmpty ? sender : String(sender.dropLast(domain.count + 1))
        let hidden = relayAddress.prefix { $0 != "@" }
        let digits = Hex.encode(Digest.sha256("apple:relayed:\(relayAddress):\(sender.lowercased())")).prefix(8)
        let end = "_\(hidden)_\(digits)"
        // https://www.rfc-editor.org/rfc/rfc5321#section-4.5.3.1.1: at most 64 bytes.
        let begin = RelayedSender.plain("\(local)_at_\(domain)").prefix(64 - end.utf8.count)
        key = begin + end + AppleIdentifiers.relayDomain
    }

    /// In lower case, with an underline for all but letters, digits and hyphens.
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

/// Whom mail to an address of the relay reaches.
enum RelayAddressee: Sendable {
    case person(HiddenPerson)
    /// What the person writes there goes to who has written before.
    case app(Reply)
    /// `endedBy` is the account that had the address once.
    case nobody(endedBy: String?)

    struct Reply: Sendable {
        let person: HiddenPerson
        /// Who has written before.
        let sender: String
    }
}

extension TableReading where Self: ~Copyable {
    /// `address` is in lower case.
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
