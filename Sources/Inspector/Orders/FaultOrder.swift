import EmulatorCore
import HTTPServer
import JSON
import Time

/// The faults that the form offers at an endpoint, and the order that it makes.
struct FaultOrder {
    /// The effects, in the order of the form.
    enum Effect: String, CaseIterable {
        case error
        case token
        case response
        case state
        case issuer
        case code
        case keys
        case keySet
        case status
        case shuffle
        case malformedJSON
        case disconnect
        case delay

        /// The effect's title in the form.
        var title: String {
            switch self {
            case .error: "It refuses, with an error of its own"
            case .token: "The ID token is broken"
            case .response: "Members of the answer are others, or missing"
            case .state: "The redirect's state is missing or wrong"
            case .issuer: "The redirect's iss is missing or another's"
            case .code: "The code that it gives out has been used already"
            case .keys: "It signs with a new key from now on"
            case .keySet: "The key set is empty or old"
            case .status: "Another status or body"
            case .shuffle: "The JSON's members come in another order"
            case .malformedJSON: "The JSON breaks off in the middle"
            case .disconnect: "The connection is closed"
            case .delay: "It answers, but later"
            }
        }

        func fits(_ traits: EndpointTraits) -> Bool {
            switch self {
            case .error: traits.errors != nil
            case .token: traits.mints != nil || traits.answersClaims
            case .response, .shuffle: traits.answersJSON && traits.answersMembers
            case .state: traits.authorizes
            case .issuer: traits.namesIssuer
            case .code: traits.authorizes || traits.givesCodes
            case .keys: traits.mints != nil || traits.publishes != nil
            case .keySet: traits.publishes != nil
            case .malformedJSON: traits.answersJSON
            case .status, .disconnect, .delay: true
            }
        }
    }

    let entry: EndpointCatalog.Entry
    let form: Form

    var effects: [Effect] { Effect.allCases.filter { $0.fits(entry.traits) } }

    /// The effect that the form has chosen; the first that is supported if it has chosen none.
    var effect: Effect? { form["effect"].flatMap { Effect(rawValue: $0) } ?? effects.first }

    /// The body of `POST faults`.
    var body: JSONValue {
        var match = JSONObject()
        match["host"] = entry.host.map { .string($0) }
        match["path"] = .string(entry.path)
        match["method"] = .string(entry.method)
        match["client"] = OrderValue.text("client", form)
        let fields = OrderValue.rows("field", form, reads: false)
        if !fields.members.isEmpty { match["fields"] = .object(fields) }
        var order = JSONObject([("match", .object(match))])
        if let after = OrderValue.number("after", form), after != 0 { order["after"] = after }
        if let times = OrderValue.times(form), times != 1 { order["times"] = times }
        if let probability = OrderValue.fraction("probability", form), probability != 1 {
            order["probability"] = probability
        }
        order["effect"] = .object(effectBody)
        return .object(order)
    }

    private var effectBody: JSONObject {
        var body = JSONObject()
        switch effect {
        case .error:
            let other = OrderValue.text("otherError", form)
            body["error"] =
                other ?? OrderValue.text("error", form) ?? entry.traits.errors?.names.first.map { .string($0) }
            if entry.traits.errors?.answer != nil { body["description"] = OrderValue.text("description", form) }
        case .token: body["token"] = .object(FaultOrder.tampering(form))
        case .response: body["response"] = .object(OrderValue.rows("member", form, reads: true))
        case .state: body["state"] = OrderValue.text("state", form) ?? "missing"
        case .issuer: body["iss"] = OrderValue.text("iss", form) ?? "missing"
        case .code: body["code"] = "used"
        case .keys: body["rotateKeys"] = OrderValue.text("rotation", form) == "drop" ? "drop" : true
        case .keySet: body["jwks"] = OrderValue.text("keySet", form) ?? "empty"
        case .status:
            body["status"] = OrderValue.number("status", form) ?? 503
            if let type = OrderValue.text("type", form) { body["headers"] = ["Content-Type": type] }
            body["body"] = OrderValue.text("body", form)
        case .shuffle: body["shuffle"] = true
        case .malformedJSON: body["malformedJSON"] = true
        case .disconnect: body["disconnect"] = OrderValue.text("disconnect", form) == "midBody" ? "midBody" : true
        // Each effect may have a delay as well: that field is among those of all.
        case .delay: body["delay"] = "2s"
        case nil: break
        }
        if let delay = OrderValue.text("delay", form) { body["delay"] = delay }
        return body
    }

    /// Returns how a token is broken: its claims and its signature.
    static func tampering(_ form: Form) -> JSONObject {
        var tampering = JSONObject()
        let claims = OrderValue.rows("claim", form, reads: true)
        if !claims.members.isEmpty { tampering["claims"] = .object(claims) }
        if let signature = OrderValue.text("signature", form), signature != "valid" {
            tampering["signature"] = signature
        }
        return tampering
    }
}

/// Describes orders in words.
enum OrderWords {
    static func effect(_ effect: FaultEffect) -> String {
        var words: [String] = []
        if let answer = effect.answer { words.append("answers \(answer.status)") }
        if let error = effect.error { words.append("refuses: \(error)") }
        if let token = effect.token { words.append(tampering(token)) }
        words += effect.response.map { name, value in
            value.isNull ? "leaves \(name) out" : "answers \(name) \(value.string ?? value.text)"
        }
        switch effect.disconnect {
        case .beforeHeaders: words.append("closes the connection")
        case .midBody: words.append("closes the connection in the middle of the body")
        case nil: break
        }
        switch effect.rotation {
        case .keep: words.append("signs with a new key from now on")
        case .drop: words.append("signs with a new key from now on, and withdraws the old ones")
        case nil: break
        }
        switch effect.keySet {
        case .empty: words.append("publishes no keys")
        case .stale: words.append("publishes old keys")
        case nil: break
        }
        if effect.shufflesMembers { words.append("answers members in another order") }
        if effect.isMalformed { words.append("breaks the JSON off") }
        if let state = effect.state { words.append(state == .missing ? "leaves state out" : "changes state") }
        if effect.isCodeUsed { words.append("gives out a code that was used") }
        if let reply = effect.reply {
            words.append(
                "answers \([String(reply.code), reply.status, reply.text].compactMap { $0 }.joined(separator: " "))")
        }
        if effect.isLost { words.append("takes the mail and loses it") }
        if let delay = effect.delay { words.append("\(span(delay)) late") }
        return words.joined(separator: ", ")
    }

    private static func tampering(_ token: Tampering) -> String {
        var words = token.claims.members.map { claim in
            claim.value.isNull ? "no \(claim.key)" : "\(claim.key) \(claim.value.string ?? claim.value.text)"
        }
        words += token.header.members.map { "header \($0.key)" }
        switch token.signature {
        case .valid: break
        case .invalid: words.append("an invalid signature")
        case .unknownKey: words.append("a key that isn't published")
        case .wrongAlgorithm: words.append("HS256 with the public key")
        case .none: words.append("no signature")
        }
        return "an ID token with " + (words.isEmpty ? "nothing changed" : words.joined(separator: ", "))
    }

    /// Returns a time in the form of orders: `2s`.
    static func span(_ span: TimeSpan) -> String {
        let milliseconds = span.milliseconds
        for (unit, length) in [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)] as [(String, Int64)]
        where milliseconds != 0 && milliseconds % length == 0 {
            return "\(milliseconds / length)\(unit)"
        }
        return "\(milliseconds)ms"
    }

    static func times(_ times: Int?) -> String {
        switch times {
        case nil: "for ever"
        case 1?: "once"
        case let times?: "\(times) times"
        }
    }
}
