import EmulatorCore
import JOSE
import Time

/// A device that waits for a person: <https://datatracker.ietf.org/doc/html/rfc8628>.
package struct DeviceAuthorization: Row {
    package enum Decision: Codable, Sendable {
        case approved(account: String, scopes: [String])
        case denied
    }

    package static let grantType = "urn:ietf:params:oauth:grant-type:device_code"

    /// Remembered for a while after they expire, so that polls can be told so.
    package static let table = Table<DeviceAuthorization>(
        "oauth.device", limit: 100_000, indexes: [byUserCode, byAccount]
    ) {
        $0.expires + .minutes(15)
    }
    static let byUserCode = Index<DeviceAuthorization, String>("userCode") { DeviceAuthorization.letters($0.userCode) }
    /// By the person who has approved it.
    static let byAccount = Index<DeviceAuthorization, String>("account") { device in
        if case .approved(let account, _) = device.decision { account } else { nil }
    }

    /// The device code.
    package let key: String
    /// Such as `WDJB-MJHT`.
    package let userCode: String
    package let issuer: String
    package let client: String
    package let scopes: [String]
    package let expires: Instant
    /// How far apart polls must be.
    package fileprivate(set) var interval: TimeSpan
    /// `nil` before the first poll.
    fileprivate var polledAt: Instant?
    package var decision: Decision?
    fileprivate var isRedeemed = false

    /// A user code without what people add or leave out.
    static func letters(_ code: String) -> String { String(code.uppercased().filter { $0.isLetter || $0.isNumber }) }
}

extension TableReading where Self: ~Copyable {
    /// The device that shows this code, while it waits.
    package func device(showing userCode: String, at issuer: String) -> DeviceAuthorization? {
        let found = first(DeviceAuthorization.byUserCode, DeviceAuthorization.letters(userCode))
        return found.flatMap { $0.issuer == issuer && $0.expires > now && $0.decision == nil ? $0 : nil }
    }
}

extension Transaction {
    /// Begins to wait for a person.
    package mutating func beginDevice(
        at issuer: String, client: String, scopes: [String], lifetime: TimeSpan, interval: TimeSpan
    ) -> DeviceAuthorization {
        let device = DeviceAuthorization(
            key: Base64URL.encode(random.bytes(32)), userCode: makeUserCode(), issuer: issuer, client: client,
            scopes: scopes, expires: now + lifetime, interval: interval)
        put(device)
        return device
    }

    /// A code that no other device shows, of letters that make no words: RFC 8628 section 6.1.
    private mutating func makeUserCode() -> String {
        while true {
            let text = random.text(8, from: Array("BCDFGHJKLMNPQRSTVWXZ".utf8))
            guard first(DeviceAuthorization.byUserCode, text) != nil else {
                return "\(text.prefix(4))-\(text.suffix(4))"
            }
        }
    }

    /// A poll by a client: the device once somebody has approved it, which then has been redeemed. `decide` says what was
    /// ordered for a sign-in that nobody has decided. A refusal is returned, because a poll that is refused counts, too.
    package mutating func poll(
        _ code: String, by client: String, at issuer: String,
        decide: (DeviceAuthorization, inout Transaction) -> DeviceAuthorization.Decision?
    ) -> Result<(account: Account, scopes: [String]), OAuthRefusal> {
        guard var device = find(DeviceAuthorization.self, code), device.issuer == issuer, device.client == client,
            !device.isRedeemed
        else {
            return .failure(
                OAuthRefusal(
                    "invalid_grant",
                    Diagnosis(
                        "the device code is unknown, redeemed, or another client's: send device_code, not user_code")
                ))
        }
        defer { put(device) }
        if let refusal = refuse(&device) { return .failure(refusal) }
        if device.decision == nil { device.decision = decide(device, &self) }
        switch device.decision {
        case nil:
            return .failure(
                OAuthRefusal(
                    "authorization_pending",
                    Diagnosis(
                        "nobody has entered \(device.userCode) yet: poll again in \(device.interval.seconds) seconds")))
        case .denied:
            return .failure(
                OAuthRefusal("access_denied", Diagnosis("the person cancelled; this device code is of no more use")))
        case .approved(let id, let scopes):
            guard let account = account(id) else {
                return .failure(.accountIsGone)
            }
            device.isRedeemed = true
            return .success((account, scopes))
        }
    }

    /// Whether the device may ask no more, or asks too soon: RFC 8628 section 3.5 adds five seconds for good.
    private func refuse(_ device: inout DeviceAuthorization) -> OAuthRefusal? {
        guard device.expires > now else {
            let age = (now - device.expires).inWords
            return OAuthRefusal(
                "expired_token", Diagnosis("the device code expired \(age) ago: ask for another"))
        }
        let before = device.polledAt
        device.polledAt = now
        guard let before, now < before + device.interval else { return nil }
        let (age, interval) = ((now - before).milliseconds, device.interval)
        device.interval = interval + .seconds(5)
        return OAuthRefusal(
            "slow_down",
            Diagnosis(
                received: "a poll after \(age) ms", expected: "\(interval.seconds) seconds between polls",
                "wait \(device.interval.seconds) seconds from now on"))
    }
}
