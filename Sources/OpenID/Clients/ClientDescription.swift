import EmulatorCore
import JOSE
import JSON
import OAuth

/// A client's metadata, checked and completed with defaults: <https://datatracker.ietf.org/doc/html/rfc7591#section-2>
/// and <https://openid.net/specs/openid-connect-registration-1_0.html#ClientMetadata>. Unknown members are dropped, as
/// RFC 7591 demands.
struct ClientDescription: Sendable {
    /// The greatest size of a client's metadata, in bytes of JSON.
    static let sizeLimit = 16 << 10
    /// The greatest number of redirect URIs that a client may register.
    private static let addressLimit = 50

    /// The client's metadata, as it is stored and sent in registration responses.
    private(set) var metadata: JSONObject

    private static let texts = ["client_name", "software_id", "software_version", "scope"]
    private static let addresses = ["client_uri", "logo_uri", "tos_uri", "policy_uri"]
    private static let algorithms = ["id_token_signed_response_alg", "userinfo_signed_response_alg"]

    /// Reads a client's metadata from `document`, a JSON object, for a server that signs with `algorithms`. If
    /// `isDocument` is true, the metadata comes from a client metadata document, whose client can have no secret
    /// (<https://datatracker.ietf.org/doc/html/draft-ietf-oauth-client-id-metadata-document-00#section-4.1>).
    init(
        reading document: JSONValue, for policy: ServerPolicy, algorithms: [Algorithm], isDocument: Bool = false
    ) throws(OAuthRefusal) {
        guard let object = document.object else {
            throw invalid(received: document.kindName, expected: "a JSON object", "send the client's metadata")
        }
        var metadata = JSONObject()
        for name in ClientDescription.texts { metadata[name] = try text(name, object).map { .string($0) } }
        for name in ClientDescription.addresses {
            guard let text = try text(name, object), !text.isEmpty else { continue }
            guard WebAddress(text) != nil else { throw invalid(name, object, expected: "an http or https URL") }
            metadata[name] = .string(text)
        }
        if let contacts = try list("contacts", object) { metadata["contacts"] = .array(contacts.map { .string($0) }) }
        let grants = try ClientDescription.grants(object)
        metadata["redirect_uris"] = try ClientDescription.redirectURIs(
            object, grants, !isDocument && policy.defaultsToWeb, &metadata)
        metadata["grant_types"] = .array(grants.map { .string($0) })
        metadata["response_types"] = try ClientDescription.responseTypes(object, grants, policy)
        metadata["token_endpoint_auth_method"] = try ClientDescription.method(
            object, isDocument, among: policy.authenticationMethods, &metadata)
        if let uris = try list("post_logout_redirect_uris", object) {
            if let other = uris.first(where: { !isAddress($0) }) { throw ClientDescription.badAddress(other) }
            metadata["post_logout_redirect_uris"] = .array(uris.map { .string($0) })
        }
        if let subject = try text("subject_type", object) {
            guard ClientMetadata.Subject(rawValue: subject) != nil else {
                throw invalid("subject_type", object, expected: "\"public\" or \"pairwise\"")
            }
            metadata["subject_type"] = .string(subject)
        }
        self.metadata = metadata
        for name in ClientDescription.algorithms {
            guard let text = try text(name, object) else { continue }
            // HS256 signs with the client's secret.
            let usable = algorithms.filter { $0 != .hs256 || needsSecret }.map(\.rawValue)
            guard usable.contains(text) else {
                throw invalid(
                    name, object,
                    expected: usable.isEmpty ? "none" : usable.map { Diagnosis.quote($0) }.joined(separator: " or "))
            }
            self.metadata[name] = .string(text)
        }
    }

    /// Reads a client's stored metadata, which was checked when it was stored.
    init(kept metadata: JSONValue) { self.metadata = metadata.object ?? JSONObject() }
}

// MARK: - Members

extension ClientDescription {
    /// The grant types that are kept of a client's metadata. Other grant types are dropped, as RFC 7591 section 2
    /// allows.
    private static let knownGrants = [
        "authorization_code", "implicit", "refresh_token", "client_credentials", DeviceAuthorization.grantType,
        TokenExchange.grantType, IdentityAssertion.grantType,
    ]

    private static func grants(_ object: JSONObject) throws(OAuthRefusal) -> [String] {
        let asked = try list("grant_types", object) ?? ["authorization_code"]
        let grants = knownGrants.filter(asked.contains)
        guard grants.isEmpty else { return grants }
        throw invalid(
            received: "grant_types \(asked.map { Diagnosis.quote($0) }.joined(separator: ", "))",
            expected: "one of grant_types_supported in the discovery document", "ask for what the issuer has")
    }

    private static func responseTypes(
        _ object: JSONObject, _ grants: [String], _ policy: ServerPolicy
    ) throws(OAuthRefusal) -> JSONValue {
        let redirects = grants.contains("authorization_code") || grants.contains("implicit")
        let asked = try list("response_types", object) ?? (grants.contains("authorization_code") ? ["code"] : [])
        for text in asked {
            let types = AuthorizationParameters.responseType(text)
            guard policy.responseTypes.contains(types) else {
                throw invalid(
                    received: "response_types with \(Diagnosis.quote(text))",
                    expected: policy.responseTypes.map { Diagnosis.quote($0.sorted().joined(separator: " ")) }
                        .joined(separator: ", "), "ask for what the issuer has")
            }
            // The table is at https://datatracker.ietf.org/doc/html/rfc7591#section-2.1
            let needed = types.contains("code") ? "authorization_code" : "implicit"
            guard grants.contains(needed) else {
                throw invalid(
                    received: "response_types with \(Diagnosis.quote(text)), and grant_types without it",
                    "name \"\(needed)\" in grant_types, or leave the response type out")
            }
        }
        guard redirects || asked.isEmpty else { throw invalid("response_types needs a grant type that redirects") }
        return .array(asked.map { .string($0) })
    }

    /// Returns a client's authentication method, and adds its `jwks` to `metadata`. If the issuer doesn't offer the
    /// method for which a registering client asks, another is chosen, as RFC 7591 section 3.2.1 allows. In a client
    /// metadata document, such a method is an error.
    private static func method(
        _ object: JSONObject, _ isDocument: Bool, among served: [ClientAuthenticationMethod],
        _ metadata: inout JSONObject
    ) throws(OAuthRefusal) -> JSONValue {
        let name = "token_endpoint_auth_method"
        let fallback: ClientAuthenticationMethod = isDocument ? .none : .clientSecretBasic
        let text = try text(name, object) ?? fallback.rawValue
        let known = ClientAuthenticationMethod.allCases.filter {
            !isDocument || [.none, .privateKeyJWT].contains($0) && served.contains($0)
        }
        guard let asked = known.first(where: { $0.rawValue == text }) else {
            throw invalid(name, object, expected: known.map(\.rawValue).joined(separator: ", "))
        }
        if let uri = object["jwks_uri"], !uri.isNull {
            throw invalid("jwks_uri isn't fetched here: send the keys themselves in jwks")
        }
        if let keys = object["jwks"], !keys.isNull {
            try check(keySet: keys)
            metadata["jwks"] = keys
        }
        let hasKeys = !(metadata["jwks"]?["keys"]?.array ?? []).isEmpty
        let method = served.contains(asked) ? asked : served.first { $0 != .privateKeyJWT || hasKeys }
        guard let method, method != .privateKeyJWT || hasKeys else {
            throw invalid("private_key_jwt needs the client's public keys: send them in jwks")
        }
        return .string(method.rawValue)
    }

    /// Refuses client metadata whose key set has private or unusable keys:
    /// <https://datatracker.ietf.org/doc/html/rfc7517#section-5>.
    private static func check(keySet: JSONValue) throws(OAuthRefusal) {
        guard let keys = keySet["keys"]?.array else {
            throw invalid(
                received: keySet.object == nil ? "jwks \(keySet.kindName)" : "jwks without the array \"keys\"",
                expected: #"{"keys": []}"#, "send a JSON Web Key Set (RFC 7517 section 5)")
        }
        guard keys.count <= KeySet.limit else {
            throw invalid(
                received: "\(keys.count) keys in jwks", expected: "at most \(KeySet.limit)",
                "leave out those that aren't used")
        }
        for (place, key) in keys.enumerated() {
            if let name = Key.privateMembers.first(where: { key[$0] != nil }) {
                throw invalid("jwks.keys[\(place)] has \(name), which is private: send the public key alone")
            }
            do throws(KeyError) { _ = try Key(jwk: key) } catch {
                throw invalid("jwks.keys[\(place)] can't be used: \(error.description)")
            }
        }
    }

    private static func redirectURIs(
        _ object: JSONObject, _ grants: [String], _ defaultsToWeb: Bool, _ metadata: inout JSONObject
    ) throws(OAuthRefusal) -> JSONValue? {
        let uris = try list("redirect_uris", object) ?? []
        let needsOne = grants.contains("authorization_code") || grants.contains("implicit")
        guard !uris.isEmpty || !needsOne else {
            throw refusal("invalid_redirect_uri", "redirect_uris is missing: grant types that redirect need one")
        }
        guard uris.count <= addressLimit else {
            throw refusal("invalid_redirect_uri", "there are more than \(addressLimit) redirect_uris: register fewer")
        }
        if let other = uris.first(where: { !isAddress($0) }) { throw badAddress(other) }
        let type = try text("application_type", object)
        guard type == nil || type == "native" || type == "web" else {
            throw invalid("application_type", object, expected: "\"native\" or \"web\"")
        }
        // Without this member, OpenID Connect assumes "web". RFC 7591 doesn't have it, and its clients register
        // loopback addresses.
        let isNative = type.map { $0 == "native" } ?? (!defaultsToWeb && uris.contains(where: isLocal))
        for uri in uris { try check(uri, isNative: isNative, isStated: type != nil) }
        metadata["application_type"] = .string(isNative ? "native" : "web")
        return uris.isEmpty ? nil : .array(uris.map { .string($0) })
    }

    /// Checks a redirect URI by the rules of OpenID Connect Registration for `application_type`. In addition, a native
    /// app may have an https URL: <https://datatracker.ietf.org/doc/html/rfc8252#section-7.2>.
    private static func check(_ uri: String, isNative: Bool, isStated: Bool) throws(OAuthRefusal) {
        let address = WebAddress(uri)
        let isWeb = address?.scheme == "http" || address?.scheme == "https"
        let told = isStated ? "" : " (the default application_type)"
        if isNative {
            guard address?.scheme == "http", address?.isLoopback == false else { return }
            throw OAuthRefusal(
                "invalid_redirect_uri",
                Diagnosis(
                    received: "redirect URI \(Diagnosis.quote(uri)) of a native client",
                    expected: "a custom scheme, https, or http at localhost, 127.0.0.1 or [::1]",
                    "a native client may use http only with a loopback address"))
        }
        guard !isWeb || address?.scheme != "https" else { return }
        throw OAuthRefusal(
            "invalid_redirect_uri",
            Diagnosis(
                received: "redirect URI \(Diagnosis.quote(uri)) of a web client\(told)", expected: "https",
                "send \"application_type\": \"native\" for an app on the user's machine, or register an https URL"))
    }

    /// Whether the redirect URI has an app's own scheme, or is a loopback address.
    private static func isLocal(_ uri: String) -> Bool {
        guard let address = WebAddress(uri), address.scheme == "http" || address.scheme == "https" else { return true }
        return address.isLoopback
    }

    fileprivate static func badAddress(_ uri: String) -> OAuthRefusal {
        OAuthRefusal(
            "invalid_redirect_uri",
            Diagnosis(
                received: "redirect URI \(Diagnosis.quote(uri))",
                expected: "an absolute URI without a fragment, a wildcard or a user name", "register the exact URI"))
    }

    fileprivate static func refusal(_ name: String, _ reason: String) -> OAuthRefusal {
        OAuthRefusal(name, Diagnosis(reason))
    }
}

/// Whether a browser may be redirected to the URI. A web address must not contain a user name, because a browser takes
/// `http://127.0.0.1@evil.example/` for an address of `evil.example`.
private func isAddress(_ uri: String) -> Bool {
    let scheme = uri.prefix { $0 != ":" }.lowercased()
    return RegisteredRedirectURI.rule.holds(uri) && !uri.contains("*") && !RegisteredRedirectURI.runsScript(uri)
        && (!["http", "https"].contains(scheme) || WebAddress(uri) != nil)
}

private func invalid(received: String? = nil, expected: String? = nil, _ advice: String) -> OAuthRefusal {
    OAuthRefusal("invalid_client_metadata", Diagnosis(received: received, expected: expected, advice))
}

private func invalid(_ name: String, _ object: JSONObject, expected: String) -> OAuthRefusal {
    let found = object[name].map { $0.string.map { Diagnosis.quote($0) } ?? $0.kindName } ?? "none"
    return invalid(received: "\(name) \(found)", expected: expected, "see RFC 7591 section 2")
}

/// Returns the string value of a member of the client's metadata; `nil` if the member is missing or null.
private func text(_ name: String, _ object: JSONObject) throws(OAuthRefusal) -> String? {
    guard let value = object[name], !value.isNull else { return nil }
    guard let text = value.string else { throw invalid(name, object, expected: "a string") }
    return text
}

private func list(_ name: String, _ object: JSONObject) throws(OAuthRefusal) -> [String]? {
    guard let value = object[name], !value.isNull else { return nil }
    guard let items = value.array, items.allSatisfy({ $0.string != nil }) else {
        throw invalid(name, object, expected: "an array of strings")
    }
    return items.compactMap(\.string)
}

// MARK: - The described client

extension ClientDescription {
    private func texts(_ name: String) -> [String] { metadata[name]?.array?.compactMap(\.string) ?? [] }

    var redirectURIs: [String] { texts("redirect_uris") }
    var name: String? { metadata["client_name"]?.string.flatMap { $0.isEmpty ? nil : $0 } }
    var authenticationMethod: ClientAuthenticationMethod {
        metadata["token_endpoint_auth_method"]?.string.flatMap { ClientAuthenticationMethod(rawValue: $0) } ?? .none
    }
    /// Whether the client's authentication method needs a secret, which the server must make.
    var needsSecret: Bool {
        [.clientSecretBasic, .clientSecretPost, .clientSecretJWT].contains(authenticationMethod)
    }

    /// Returns the client that the metadata describes. The client's access tokens are JSON Web Tokens, which any
    /// resource server can check. People are asked for consent.
    ///
    /// The scopes in the metadata don't limit the client's requests, because clients learn about further scopes later.
    func client(_ id: String, secret: String?) -> ClientMetadata {
        var seed = JSONObject([
            ("clientID", .string(id)), ("name", .string(name ?? id)),
            ("redirectURIs", .array(redirectURIs.map { .string(ClientDescription.anyPort($0)) })),
            ("postLogoutRedirectURIs", metadata["post_logout_redirect_uris"] ?? []),
            ("tokenEndpointAuthMethod", .string(authenticationMethod.rawValue)),
            ("grantTypes", metadata["grant_types"] ?? []), ("consent", true), ("accessToken", "jwt"),
        ])
        seed["responseTypes"] = metadata["response_types"]
        seed["clientSecret"] = secret.map { .string($0) }
        seed["jwks"] = metadata["jwks"]
        seed["subject"] = metadata["subject_type"]
        seed["idTokenAlgorithm"] = metadata["id_token_signed_response_alg"]
        seed["userInfoAlgorithm"] = metadata["userinfo_signed_response_alg"]
        return ClientMetadata(reading: .object(seed))
    }

    /// Returns a redirect URI to register. The port of an http URL at a loopback address becomes `*`, which matches any
    /// port: <https://datatracker.ietf.org/doc/html/rfc8252#section-7.3>.
    private static func anyPort(_ uri: String) -> String {
        guard let address = WebAddress(uri), address.scheme == "http", address.isLoopback else { return uri }
        let host = address.host.contains(":") ? "[\(address.host)]" : address.host
        return "http://\(host):*\(address.rest)"
    }
}
