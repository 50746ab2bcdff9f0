import HTTPServer
import JOSE
import JSON
import Synchronization
import Time

/// The fault that was ordered for an exchange.
package final class AppliedFault: Sendable {
    package let fault: Fault
    private let used = Atomic<Bool>(false)

    /// The scenario that has ordered it.
    private let scenario: String?

    init(_ fault: Fault, of scenario: String?) {
        self.fault = fault
        self.scenario = scenario
    }

    /// Whether it has taken effect.
    package var isUsed: Bool { used.load(ordering: .relaxed) }

    package func use() { used.store(true, ordering: .relaxed) }

    package var diagnosis: Diagnosis { Diagnosis(summary) }

    /// The fault in words, for the recording.
    package var summary: String { fault.summary(of: scenario) }
}

extension Exchange {
    /// Signs `claims` with a key of `owner`, unless a fault orders otherwise. `type` is the header's `typ`; without one, the
    /// header is Apple's. Without an `algorithm`, it is the first that the owner signs with; HS256 signs with `secret`, the client's.
    /// Without `isSigned`, the token has no signature. Every token of an endpoint is made here.
    package func mint(
        _ owner: KeyOwner, _ claims: JSONObject, at time: Instant, type: String? = nil, algorithm: Algorithm? = nil,
        secret: String? = nil, isSigned: Bool = true
    ) throws(KeyError) -> String {
        let ring = world.keys[owner]
        guard let appliedFault, let tampering = appliedFault.fault.effect.token else {
            guard isSigned else { return JWS.unsigned(header: KeyRing.unsignedHeader, claims: claims) }
            return try ring.mint(claims, at: time, type: type, algorithm: algorithm, secret: secret)
        }
        appliedFault.use()
        guard isSigned || tampering.signature != .valid else {
            return KeyRing.unsigned(claims, at: time, tampering: tampering)
        }
        return try ring.mint(
            claims, at: time, type: type, algorithm: algorithm, secret: secret, tampering: tampering)
    }

    /// The claims of an answer that is JSON, changed as a fault orders.
    package func claims(_ claims: JSONObject) -> JSONObject {
        guard let appliedFault, let tampering = appliedFault.fault.effect.token, tampering.changesClaimsOnly else {
            return claims
        }
        appliedFault.use()
        return tampering.apply(to: claims, now: world.now)
    }

    /// The JSON Web Key Set of `owner`, unless a fault orders otherwise.
    package func keySet(_ owner: KeyOwner) -> JSONValue { KeyRing.jwks(published(owner)) }

    /// The same keys as certificates.
    package func certificates(_ owner: KeyOwner, commonName: String) throws(KeyError) -> JSONValue {
        try KeyRing.certificates(published(owner), commonName: commonName)
    }

    private func published(_ owner: KeyOwner) -> [KeyGenerator.NamedKey] {
        let ring = world.keys[owner]
        guard let appliedFault, let keySet = appliedFault.fault.effect.keySet else { return ring.published }
        appliedFault.use()
        switch keySet {
        case .empty: return []
        case .stale: return ring.stale(at: world.now)
        }
    }

    /// The exchange that the code to be issued counts as used by: this one, if a fault orders a used code.
    package var spentBy: String? {
        guard let appliedFault, appliedFault.fault.effect.isCodeUsed else { return nil }
        appliedFault.use()
        return id
    }

    /// The redirect's `state`, unless a fault orders otherwise.
    package func redirectState(_ field: Form.Field?) -> Form.Field? {
        guard let appliedFault, let state = appliedFault.fault.effect.state else { return field }
        appliedFault.use()
        return state == .missing ? nil : Form.Field(name: "state", value: "another-\(field?.value ?? "state")")
    }

    /// The redirect's `iss`, unless a fault orders otherwise.
    package func redirectIssuer(_ issuer: String?) -> String? {
        guard let appliedFault, let order = appliedFault.fault.effect.issuer else { return issuer }
        appliedFault.use()
        return order == .missing ? nil : "https://another-issuer.example"
    }

    /// How this authorization is answered without a page: by a fault, by the queue of outcomes, or by the client's own
    /// interaction. `nil` shows the page.
    package func outcome(
        _ state: inout Transaction, provider: String, client: String, interaction: Interaction, account: String? = nil
    ) -> Outcome? {
        if let appliedFault, let error = appliedFault.fault.effect.error {
            appliedFault.use()
            var details = Outcome.Details()
            details.error = error
            return Outcome(id: appliedFault.fault.id, provider: provider, kind: .error, details: details)
        }
        if !state.value(OutcomeQueue.self).queued.isEmpty,
            let ordered = state.outcomes.take(provider: provider, client: client, account: account)
        {
            world.noteChange()
            return ordered
        }
        return interaction.standing(provider: provider)
    }

    /// The fields of the query, of a form, and the texts of a JSON object.
    var fields: [String: String] {
        var fields: [String: String] = [:]
        for field in request.bodyForm.fields + request.queryForm.fields { fields[field.name] = field.value }
        for (name, value) in request.jsonBody?.object?.members ?? [] { fields[name] = value.string ?? value.text }
        return fields
    }
}

extension Response {
    /// The same response with half of its body.
    func malformed() -> Response {
        var response = self
        response.body = Array(body.prefix(max(1, body.count / 2)))
        return response
    }
}
