import EmulatorCore
import HTTPServer
import JOSE
import JSON
import Recordings
import Time

// The provider's answer to a client: a redirect's parameters, a form_post, or a token endpoint's answer.

/// The parameters with which a sign-in returned to the app, parsed from a pasted URL or body.
struct ReturnedValues: Sendable {
    /// The pasted URL without query and fragment; `nil` if a body was pasted.
    let address: String?
    let isFragment: Bool
    let fields: [Form.Field]

    /// The greatest number of fields that are read from a callback's URL or body, which a developer has pasted to have
    /// it explained. No real callback has more.
    static let limit = 50
    private static let telling: Set<String> = [
        "code", "error", "id_token", "access_token", "state", "authorizationCode", "identityToken", "idToken",
        "accessToken", "refresh_token",
    ]

    /// Parses a pasted `text`. Returns `nil` unless it is a URL, a form or a JSON object with at least one value of a
    /// sign-in's result, such as `code`.
    init?(_ text: String) {
        if text.hasPrefix("{"), let object = (try? JSONValue(parsing: text))?.object {
            address = nil
            isFragment = false
            fields = object.members.prefix(ReturnedValues.limit).map { member in
                Form.Field(name: member.key, value: member.value.string ?? member.value.text)
            }
        } else {
            let mark = text.firstIndex { $0 == "?" || $0 == "#" }
            let isURL = text.contains("://") && mark != nil || text.hasPrefix("/")
            let start = mark.map { text.index(after: $0) } ?? text.startIndex
            address = isURL ? mark.map { String(text[..<$0]) } : nil
            isFragment = isURL && mark.map { text[$0] == "#" } ?? false
            let parts = text[start...].split { $0 == "?" || $0 == "#" }
            fields = Array(parts.flatMap { Form(parsing: $0).fields }.prefix(ReturnedValues.limit))
        }
        guard fields.contains(where: { ReturnedValues.telling.contains($0.name) }) else { return nil }
    }

    subscript(name: String) -> String? { fields.first { $0.name == name }?.value }
}

extension ValueReader {
    func read(_ returned: ReturnedValues, in search: RecordingSearch) throws -> [ExplainedPart] {
        var findings: [ExplainedPart.Finding] = []
        if let address = returned.address {
            findings.append(.init(holds: nil, "returned to \(Diagnosis.quote(address, limit: 300))"))
        }
        if returned.isFragment {
            let advice = "the values are in the URL's fragment: scripts in the browser see them, but servers don't"
            findings.append(.init(holds: nil, advice))
        }
        let names = returned.fields.map(\.name)
        for name in Set(names).sorted() where names.filter({ $0 == name }).count > 1 {
            findings.append(
                .init(
                    holds: false, "\(Diagnosis.quote(name)) occurs more than once: it's undefined which value counts")
            )
        }
        var tokens: [ExplainedPart] = []
        for field in returned.fields {
            findings += words(of: field, returned, search)
            guard RecordingSearch.isToken(field.value), tokens.count < 8, let token = try? JWS(parsing: field.value)
            else { continue }
            tokens += try read(token, text: field.value, surroundings(of: field.value, field: field.name, in: search))
                .parts
        }
        return [ExplainedPart("What came back", findings)] + tokens
    }

    private func words(
        of field: Form.Field, _ returned: ReturnedValues, _ search: RecordingSearch
    ) -> [ExplainedPart.Finding] {
        let name = field.name
        switch name {
        case "code", "authorizationCode", "access_token", "accessToken", "refresh_token", "refreshToken":
            return issuedFindings(field.value, name: name, returnedTo: returned.address, search)
        case "state": return [stateFinding(field.value, search)]
        case "error": return [errorFinding(field.value, returned, search)]
        case "error_description", "error_reason", "error_uri":
            return [.init(holds: nil, "\(name), the provider's own words: \(Diagnosis.quote(field.value, limit: 300))")]
        case "iss":
            let named = provider(ofIssuer: field.value)
            return [
                .init(
                    named != nil,
                    "iss (RFC 9207) is \(Diagnosis.quote(field.value))"
                        + (named.map { ", \(ValueReader.title(of: $0))" } ?? ""),
                    else: "no provider here has this issuer")
            ]
        case "user":
            return [
                .init(
                    holds: nil,
                    "the parameter \"user\" contains the user's name and e-mail address: store both, because Apple "
                        + "sends this parameter only at the user's first consent")
            ]
        case "id_token", "idToken", "identityToken":
            return RecordingSearch.isToken(field.value)
                ? [] : [.init(holds: false, "\(name) isn't a JSON Web Token: \(Diagnosis.quote(field.value))")]
        default:
            let words = ReturnedWords.meanings[name].map { ", \($0)" } ?? ""
            return [.init(holds: nil, "\(Diagnosis.quote(name))\(words): \(Diagnosis.quote(field.value, limit: 200))")]
        }
    }

    private func stateFinding(_ state: String, _ search: RecordingSearch) -> ExplainedPart.Finding {
        if let sender = search.sender(of: state, as: ["state"]) {
            let words =
                "state is from a recorded authorization request: compare it with the session's state, and accept it once"
            return .init(holds: true, words, exchange: sender.exchange.id)
        }
        return .init(
            holds: false,
            "state \(Diagnosis.quote(state)) wasn't sent by a recorded request of this world: the sign-in was begun "
                + "elsewhere, or the state was changed")
    }

    private func errorFinding(
        _ error: String, _ returned: ReturnedValues, _ search: RecordingSearch
    ) -> ExplainedPart.Finding {
        let maker = returned["state"].flatMap { search.maker(of: $0) ?? search.sender(of: $0, as: ["state"]) }
        let sender = maker.flatMap { provider(of: $0.exchange) }
        let own = sender.flatMap { [$0].explainers.first?.explain(error: error) }
        let meaning =
            own ?? ErrorMeanings.meaning(of: error)
            ?? providers.explainers.lazy.compactMap { $0.explain(error: error) }.first
        let name = "error is \(Diagnosis.quote(error))"
        return .init(holds: false, meaning.map { "\(name): \($0)" } ?? name, exchange: maker?.exchange.id)
    }

    // MARK: - Codes and opaque tokens

    /// Returns what this test world knows of a code or an opaque token. The list is empty for a JSON Web Token, whose
    /// claims are explained elsewhere.
    func issuedFindings(
        _ text: String, name: String?, returnedTo address: String?, _ search: RecordingSearch
    ) -> [ExplainedPart.Finding] {
        guard !RecordingSearch.isToken(text) else { return [] }
        let called = name ?? "the value"
        let made = search.maker(of: text)?.exchange.id
        guard let (provider, value) = issued(text) else {
            if let reason = providers.lazy.compactMap({
                ($0 as? any RemembersEndedTokens)?.ended(text, in: world)?.reason
            })
            .first {
                return [.init(holds: false, "\(called) no longer works: \(reason)", exchange: made)]
            }
            let redeemer = search.sender(of: text, as: ["code"])?.exchange.id
            let words =
                made != nil || redeemer != nil
                ? "\(called) is no longer known: it expired long ago, or its grant was revoked"
                : "\(called) wasn't issued in this test world, or expired long ago: is it from another world, or from before a reset?"
            return [.init(holds: false, words, exchange: made ?? redeemer)]
        }
        let title = ValueReader.title(of: provider)
        var findings: [ExplainedPart.Finding] = [
            .init(
                holds: nil,
                "\(called) is \(value.kind == .code ? "an" : value.kind == .accessToken ? "an" : "a") \(value.kind.rawValue) "
                    + "issued by \(title) in this test world; its client is \(Diagnosis.quote(value.client)), "
                    + "its subject is \(person(value.account))",
                exchange: made)
        ]
        if let usedBy = value.usedBy {
            let uses = search.senders(of: text).filter { $0.exchange.request.method == "POST" }.count
            findings.append(
                uses > 1
                    ? .init(
                        holds: false,
                        "the code was sent \(uses) times, and works only once: is the callback handled twice?",
                        exchange: usedBy)
                    : .init(
                        holds: nil, "the code was already redeemed: a code works only once, and is refused from now on",
                        exchange: usedBy))
        } else if value.kind == .code {
            findings.append(.init(holds: true, "the code wasn't redeemed yet"))
        }
        if let expires = value.expires, value.usedBy == nil {
            let span = (expires - now).inWords
            findings.append(
                expires > now
                    ? .init(holds: true, "\(called) expires in \(span)")
                    : .init(holds: false, "\(called) expired \(span) ago"))
        }
        if value.kind == .code, value.usedBy == nil { findings += redemptionFindings(value, returnedTo: address) }
        return findings
    }

    private func redemptionFindings(_ value: IssuedValue, returnedTo address: String?) -> [ExplainedPart.Finding] {
        var findings: [ExplainedPart.Finding] = []
        if let redirectURI = value.redirectURI {
            let quoted = Diagnosis.quote(redirectURI, limit: 300)
            let sent = address.map {
                $0.hasPrefix("/") ? redirectURI.hasSuffix($0) : ReturnedWords.base(redirectURI) == $0
            }
            findings.append(
                .init(
                    holds: sent == false ? false : nil,
                    sent == false
                        ? "the code was issued for another redirect_uri than this URL: redeem the code "
                            + "with redirect_uri \(quoted)"
                        : "redeem the code with redirect_uri \(quoted)"))
        }
        if value.hasChallenge {
            findings.append(
                .init(holds: nil, "redeem the code with the code_verifier of the session that began the sign-in"))
        }
        return findings
    }
}

enum ReturnedWords {
    static let meanings = [
        "token_type": "how the access token is sent", "expires_in": "seconds until the access token expires",
        "scope": "the scopes that were granted", "session_state": "the state of the browser's session at the provider",
        "authuser": "which of the browser's signed-in accounts was used",
        "prompt": "what the provider asked the user to do, such as to consent",
        "hd": "the organization that the user's account belongs to",
    ]

    static func base(_ url: String) -> String { String(url.prefix { $0 != "?" && $0 != "#" }) }
}
