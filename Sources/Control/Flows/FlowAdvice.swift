import EmulatorCore
import HTTPServer
import JOSE
import JSON
import Recordings
import Time

/// A remark about a sign-in as a whole, rather than about a single refused request.
package struct FlowAdvice: Sendable, Equatable {
    package enum Weight: Sendable {
        /// The remark is about a fact that may surprise.
        case remark
        /// The remark gives the likely reason why the sign-in isn't finished.
        case problem
    }

    package let weight: Weight
    package let text: String
    /// The ID of the recorded request that led to this remark about a sign-in.
    package let exchange: String
}

extension FlowReader {
    /// Returns the remarks about a sign-in as a whole.
    package func advice(on flow: [KnownExchange]) -> [FlowAdvice] {
        let exchanges = flow.map(\.exchange)
        var advice: [FlowAdvice] = []
        for known in flow {
            let exchange = known.exchange
            // Exchanges with an ordered fault are reported as such.
            if exchange.fault == nil, let note = ExchangeDocument(known, masksSecrets: control.masksSecrets).note {
                advice.append(FlowAdvice(weight: .remark, text: "\(note.capitalizedFirst).", exchange: exchange.id))
            }
            let remarks = control.finder.value.find(exchange).endpoint?.remarks?(exchange, exchanges) ?? []
            advice += remarks.map { FlowAdvice(weight: .remark, text: $0, exchange: exchange.id) }
            if let text = unverifiedAddress(exchange) {
                advice.append(FlowAdvice(weight: .remark, text: text, exchange: exchange.id))
            }
        }
        let waiting = SentCode.codes(in: exchanges).filter { !$0.isRedeemed }
        advice += waiting.map { code in
            FlowAdvice(weight: .problem, text: code.advice(now: world.now), exchange: code.exchange.id)
        }
        if let refused = exchanges.last(where: { $0.diagnosis != nil }), let text = clockAdvice(refused) {
            advice.append(FlowAdvice(weight: .remark, text: text, exchange: refused.id))
        }
        return advice
    }

    /// Returns a remark if the response has an ID token whose `email_verified` is false.
    private func unverifiedAddress(_ exchange: RecordedExchange) -> String? {
        let tokens = exchange.responseFindings.filter { $0.value.hasPrefix("eyJ") }
        for token in tokens {
            guard let claims = (try? JWS(parsing: token.value))?.claims, let verified = claims["email_verified"],
                verified.bool == false || verified.string == "false"
            else { continue }
            return
                "The address in the ID token isn't verified (email_verified is false): don't link accounts by it, and "
                + "ask the user to verify the address first."
        }
        return nil
    }

    /// Returns a remark if the test world's clock differed from the machine's by more than a minute, which is an easily
    /// overlooked reason for refusals.
    private func clockAdvice(_ exchange: RecordedExchange) -> String? {
        guard let machine = Instant(seconds: exchange.began / 1_000_000) else { return nil }
        let ahead = exchange.time - machine
        guard ahead.length > .minutes(1) else { return nil }
        return
            "This test world's clock was \(ahead.inWords) \(ahead < .zero ? "behind" : "ahead of") the machine's. "
            + "To this world, a token that was issued at the machine's time seems to be "
            + "\(ahead < .zero ? "issued in the future" : "old")."
    }
}

/// An authorization code that was sent to an app's redirect URI.
struct SentCode: Sendable {
    let exchange: RecordedExchange
    /// The redirect URI to which the code was sent; `nil` if it isn't known.
    let callback: String?
    /// Whether the browser posted the code in a form, rather than following a redirect with it.
    let isPosted: Bool
    let isRedeemed: Bool

    /// Returns the authorization codes that were sent to redirect URIs, the oldest first. Codes of native sign-ins
    /// aren't among them, because they aren't sent to a URI.
    static func codes(in flow: [RecordedExchange]) -> [SentCode] {
        var sent: [(code: String, place: Int, isPosted: Bool)] = []
        var used: Set<String> = []
        for (place, exchange) in flow.enumerated() {
            let findings = exchange.responseFindings.filter { $0.name == "code" && $0.value.utf8.count >= 8 }
            for finding in findings where !sent.contains(where: { $0.code == finding.value }) {
                let isRedirect = finding.place.hasPrefix("response.headers.Location")
                let isPage = exchange.response.header("Content-Type")?.hasPrefix("text/html") ?? false
                guard isRedirect || isPage else { continue }
                sent.append((finding.value, place, !isRedirect))
            }
            for finding in exchange.requestFindings where finding.name == "code" { used.insert(finding.value) }
        }
        return sent.map { code in
            let exchange = flow[code.place]
            return SentCode(
                exchange: exchange, callback: callback(of: exchange), isPosted: code.isPosted,
                isRedeemed: used.contains(code.code))
        }
    }

    private static func callback(of exchange: RecordedExchange) -> String? {
        exchange.requestFindings.first { $0.name == "redirect_uri" }?.value
            ?? exchange.response.header("Location").map { String($0.prefix { $0 != "?" && $0 != "#" }) }
    }

    func advice(now: Instant) -> String {
        let place = callback.map { " to \(Diagnosis.quote($0))" } ?? ""
        let age = max(.zero, now - exchange.time).inWords
        let begin = "The authorization code hasn't been redeemed. The provider sent it \(age) ago\(place). "
        guard isPosted else {
            return begin
                + "Check whether the browser reached the redirect URI, and what the app's callback answered. Often the "
                + "callback refuses a state that doesn't match the app's session."
        }
        return begin
            + "If the callback ran but found no session: the form post comes from another site, and browsers send no "
            + "SameSite=Lax cookies with it. Cookies are SameSite=Lax by default. Set the cookie with the session or "
            + "the state with SameSite=None; Secure."
    }
}
