import EmulatorCore
import HTTPServer
import JSON

// https://datatracker.ietf.org/doc/html/rfc9126#section-2

extension AuthorizationServer {
    /// Checks an authorization request like the authorization endpoint, and stores it.
    package func push(_ exchange: Exchange) throws -> Response {
        let form = try exchange.request.parameters()
        let client = try authenticate(exchange, form)
        guard form["request_uri"] == nil else {
            throw OAuthRefusal("invalid_request", Diagnosis("request_uri can't be pushed: push the request itself"))
        }
        let known = AuthorizationParameters.names.subtracting(["client_id"])
        var kept = Form(fields: form.fields.filter { known.contains($0.name) })
        kept.fields.append(Form.Field(name: "client_id", value: client.clientID))
        var fields = try RequestObject.resolve(
            kept, client: client.credentials, issuer: identifier(exchange), in: exchange)
        if policy.dpop != .off, let proof = try serverProof(exchange) { try bind(&fields, to: proof) }
        _ = try RequestedAuthorization.redirectURI(fields, client, self)
        _ = try AuthorizationParameters(fields, client, policy)
        let wanted = Form(fields: fields.fields.filter { AuthorizationParameters.names.contains($0.name) })
        let size = wanted.encoded.utf8.count
        // https://datatracker.ietf.org/doc/html/rfc9126#section-2.3
        guard size <= PushedRequest.sizeLimit else {
            throw OAuthRefusal(
                "invalid_request", status: 413,
                Diagnosis(
                    received: "a request of \(size) bytes", expected: "at most \(PushedRequest.sizeLimit)",
                    "push a shorter one"))
        }
        let pushed = try exchange.world.update { tables in
            tables.push(wanted, of: key(of: client), for: policy.lifetimes.pushedRequest)
        }
        return OAuthRefusal.json(
            ["request_uri": .string(pushed.key), "expires_in": .integer(policy.lifetimes.pushedRequest.seconds)],
            status: 201)
    }

    /// Binds a pushed request to the key of its proof: <https://datatracker.ietf.org/doc/html/rfc9449#section-10.1>.
    private func bind(_ fields: inout Form, to proof: DPoPProof) throws(OAuthRefusal) {
        guard let named = fields["dpop_jkt"] else {
            return fields.fields.append(Form.Field(name: "dpop_jkt", value: proof.thumbprint))
        }
        guard named != proof.thumbprint else { return }
        throw OAuthRefusal(
            "invalid_dpop_proof",
            Diagnosis(
                received:
                    "dpop_jkt \(Diagnosis.quote(named)) and a proof by the key \(Diagnosis.quote(proof.thumbprint))",
                "both must name one key: leave dpop_jkt out, or sign with the key that it names"))
    }
}
