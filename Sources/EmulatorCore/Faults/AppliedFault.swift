import HTTPServer
import JOSE
import JSON
import Synchronization
import Time
import Worlds

/// A fault that a test or the seed requested, while it applies to an HTTP request that is being answered, or to a step
/// of SMTP.
package final class AppliedFault: Sendable {
    package let fault: Fault
    /// The mark of the queue from which the fault was taken.
    let mark: UInt32
    private let used = Atomic<Bool>(false)

    /// The name of the scenario that requested the fault; `nil` if a test or the seed requested it directly.
    private let scenario: String?

    init(_ fault: Fault, _ mark: UInt32, of scenario: String?) {
        self.fault = fault
        self.mark = mark
        self.scenario = scenario
    }

    /// Whether the fault has had an effect on the HTTP request that is being answered.
    package var isUsed: Bool { used.load(ordering: .relaxed) }

    package func use() { used.store(true, ordering: .relaxed) }

    package var diagnosis: Diagnosis { Diagnosis(summary) }

    package var summary: String { fault.summary(of: scenario) }
}

extension Exchange {
    /// Signs a JSON Web Token with `claims` and a key of `owner`. A fault that a test requested can change the token.
    /// Without `type`, the token's header has only `kid` and `alg`, as in Apple's tokens. Without `algorithm`, the
    /// owner's first algorithm is used. HS256 signs with the client's `secret`. If `isSigned` is false, the token has
    /// no signature, unless the fault asks for one.
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

    /// Returns the claims of a JSON response. A fault that a test requested can change them.
    package func claims(_ claims: JSONObject) -> JSONObject {
        guard let appliedFault, let tampering = appliedFault.fault.effect.token, tampering.changesClaimsOnly else {
            return claims
        }
        appliedFault.use()
        return tampering.apply(to: claims, now: world.now)
    }

    /// Returns the JSON Web Key Set of `owner`. A fault that a test requested can change it.
    package func keySet(_ owner: KeyOwner) -> JSONValue { KeyRing.jwks(published(owner)) }

    /// Returns the published keys of `owner` as X.509 certificates. A fault that a test requested can change them.
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

    /// The ID of this request if a fault makes the request's new authorization code count as used already. The request
    /// is then recorded as the one that used the code. `nil` without such a fault.
    package var spentBy: String? {
        guard let appliedFault, appliedFault.fault.effect.isCodeUsed else { return nil }
        appliedFault.use()
        return id
    }

    /// Returns the `state` parameter of an authorization response's redirect. A fault that a test requested can change
    /// or remove it.
    package func redirectState(_ field: Form.Field?) -> Form.Field? {
        guard let appliedFault, let state = appliedFault.fault.effect.state else { return field }
        appliedFault.use()
        return state == .missing ? nil : Form.Field(name: "state", value: "another-\(field?.value ?? "state")")
    }

    /// Returns the `iss` parameter of an authorization response's redirect. A fault that a test requested can change or
    /// remove it.
    package func redirectIssuer(_ issuer: String?) -> String? {
        guard let appliedFault, let order = appliedFault.fault.effect.issuer else { return issuer }
        appliedFault.use()
        switch order {
        case .missing: return nil
        case .wrong: return "https://another-issuer.example"
        case .normalized: return issuer.map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 + "/" }
        }
    }

    /// Returns how an authorization request ends without a sign-in page; `nil` if the page is shown. A fault decides
    /// first, then a sign-in result that a test or the seed requested in advance, and then `interaction`, a setting of
    /// the client or of the seed.
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
            let ordered = state.outcomes.consumeNext(provider: provider, client: client, account: account)
        {
            world.markChanged()
            return ordered
        }
        return interaction.standing(provider: provider)
    }

    /// The fields of an HTTP request: the fields of its query and form, and the members of its JSON body.
    var fields: [String: String] {
        var fields: [String: String] = [:]
        for field in request.bodyForm.fields + request.queryForm.fields { fields[field.name] = field.value }
        for (name, value) in request.jsonBody?.object?.members ?? [] { fields[name] = value.string ?? value.text }
        return fields
    }
}

extension Response {
    func malformed() -> Response {
        var response = self
        response.body = Array(body.prefix(max(1, body.count / 2)))
        return response
    }
}

extension AppliedFault {
    /// Applies the fault to a request: answers in place of the endpoint, or changes the endpoint's response.
    func carryOut(
        _ exchange: Exchange, at endpoint: Endpoint, or refusal: @escaping @Sendable (any Error) -> Response,
        run: @escaping @Sendable () -> Reply
    ) -> Reply {
        if fault.effect.rotation != nil, let owner = endpoint.traits?.mints ?? endpoint.traits?.publishes {
            return .running { [self] in
                do throws(StoreFailure) { try await rotate(exchange, owner) } catch { return refusal(error) }
                return await proceed(exchange, at: endpoint, or: refusal, run: run).response
            }
        }
        if fault.effect.token?.signature == .unknownKey, let owner = endpoint.traits?.mints {
            return .later { [self] done in
                exchange.world.keys[owner].whenUnpublishedIsReady { [self] in
                    proceed(exchange, at: endpoint, or: refusal, run: run).deliver(done)
                }
            }
        }
        return proceed(exchange, at: endpoint, or: refusal, run: run)
    }

    private func proceed(
        _ exchange: Exchange, at endpoint: Endpoint, or refusal: (any Error) -> Response, run: () -> Reply
    ) -> Reply {
        let effect = fault.effect
        if !effect.waitsForItsMoment { use() }
        var reply: Reply
        if let answer = effect.answer {
            reply = .now(Response(status: answer.status, headers: answer.headers, body: answer.body))
        } else if effect.disconnect == .beforeHeaders {
            var response = Response(status: 200)
            response.delivery = .dropped
            reply = .now(response)
        } else if let name = effect.error, let answer = endpoint.traits?.errors?.answer {
            use()
            let error = EndpointTraits.RequestedError(
                name: name, description: effect.description, diagnosis: diagnosis)
            do { reply = .now(try answer(error, exchange)) } catch { reply = .now(refusal(error)) }
        } else {
            reply = run()
        }
        if !effect.response.isEmpty || effect.shufflesMembers { reply = reply.map { [self] in changed($0) } }
        if effect.isMalformed { reply = reply.map { $0.malformed() } }
        if effect.disconnect == .midBody {
            reply = reply.map { response in
                var response = response
                response.delivery = .cut
                return response
            }
        }
        return effect.delay.map { reply.delayed(by: $0.duration) } ?? reply
    }

    /// Returns the response with its members changed by the fault. An error response, or a response without members,
    /// stays unchanged and doesn't use up the fault.
    private func changed(_ response: Response) -> Response {
        guard (200..<300).contains(response.status), response.header(Diagnosis.headerName) == nil,
            let body = changedBody(response)
        else { return response }
        use()
        var response = response
        response.body = body
        return response
    }

    /// Returns the response's body (JSON or a form) with its members changed by the fault. If the JSON is a list, each
    /// object in the list is changed. Returns `nil` if the body has no members, or has a member `error`.
    private func changedBody(_ response: Response) -> [UInt8]? {
        let members = fault.effect.response
        let type = response.header("Content-Type")?.mediaType ?? ""
        if type == "application/x-www-form-urlencoded" {
            var form = Form(parsing: response.body)
            guard form["error"] == nil else { return nil }
            for (name, value) in members {
                let field = Form.Field(name: name, value: value.string ?? value.text)
                let place = form.fields.firstIndex { $0.name == name }
                form.fields.removeAll { $0.name == name }
                if !value.isNull { form.fields.insert(field, at: min(place ?? .max, form.fields.count)) }
            }
            return Array(form.encoded.utf8)
        }
        switch try? JSONValue(parsing: response.body, limits: .answer) {
        case .object(let object)? where object["error"] == nil:
            return shuffled(.object(AppliedFault.changed(object, members))).serialized()
        case .array(let list)? where list.contains { $0.object != nil }:
            return shuffled(
                .array(list.map { $0.object.map { .object(AppliedFault.changed($0, members)) } ?? $0 })
            ).serialized()
        default: return nil
        }
    }

    private static func changed(_ object: JSONObject, _ members: [(name: String, value: JSONValue)]) -> JSONObject {
        var object = object
        for (name, value) in members { object[name] = value.isNull ? nil : value }
        return object
    }

    /// Returns the JSON value, with the members of each object reordered if the fault asks for that. They are reversed
    /// in the fault's first response, and rotated by one more place in each further response.
    private func shuffled(_ value: JSONValue) -> JSONValue {
        guard fault.effect.shufflesMembers else { return value }
        switch value {
        case .array(let items): return .array(items.map(shuffled))
        case .object(let object):
            let members = object.members.reversed().map { ($0.key, shuffled($0.value)) }
            let start = members.isEmpty ? 0 : (fault.done - 1) % members.count
            return .object(JSONObject(Array(members[max(0, start)...] + members[..<max(0, start)])))
        default: return value
        }
    }

    private func rotate(_ exchange: Exchange, _ owner: KeyOwner) async throws(StoreFailure) {
        guard
            try await exchange.world.keys[owner].rotate(
                in: exchange.world.name, dropping: fault.effect.rotation == .drop) == nil
        else {
            return
        }
        exchange.world.budget.notices.warnOncePerMinute(
            .keys,
            "a rotation of signing keys that a test requested was skipped: \(KeyGenerator.waitingLimit) rotations already wait for a new key"
        )
    }
}
