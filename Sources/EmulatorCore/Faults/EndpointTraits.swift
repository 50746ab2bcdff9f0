import HTTPServer
import JOSE
import JSON

/// The faults (error responses, broken tokens and the like) that a test can request for an endpoint.
package struct EndpointTraits: Sendable {
    /// The errors that an endpoint sends when a test requests them, and the form in which the endpoint sends them.
    package struct Errors: Sendable {
        /// The names of the endpoint's errors, in the order of the provider's documentation.
        package let names: [String]
        /// In addition to its documented errors, a test can make the endpoint send the errors with these names.
        package let others: [String]
        /// Whether a test can also request an error whose name isn't listed. A name that looks like a misspelling of a
        /// listed one is always refused.
        package let isOpen: Bool
        /// A function that makes the response with an error that a test requested. It is `nil` at authorization
        /// endpoints and native sign-ins, where the error becomes the result of the sign-in.
        package let answer: (@Sendable (RequestedError, Exchange) throws -> Response)?

        package init(
            _ names: [String], others: [String] = [], isOpen: Bool = false,
            answer: (@Sendable (RequestedError, Exchange) throws -> Response)?
        ) {
            self.names = names
            self.others = others
            self.isOpen = isOpen
            self.answer = answer
        }

        package var takesOthers: Bool { isOpen || !others.isEmpty }

        package func accepts(_ name: String) -> Bool {
            names.contains(name) || others.contains(name) || isOpen && hint(for: name).isEmpty
        }

        /// Returns a hint such as "did you mean …?" for a misspelled error name; empty if no known name is similar.
        func hint(for name: String) -> String { Spelling.hint(name, among: names + others) }
    }

    /// An error that a test requested by a fault. The endpoint makes its error response from it.
    package struct RequestedError: Sendable {
        package let name: String
        package let description: String?
        package let diagnosis: Diagnosis
    }

    package var errors: Errors?
    /// The owner of the keys with which the endpoint signs tokens; `nil` if it signs none.
    package var mints: KeyOwner?
    /// Whether the endpoint's JSON response consists of a token's claims. A fault that changes the claims of tokens
    /// also changes such a response.
    package var answersClaims = false
    /// The owner of the signing keys that the endpoint publishes; `nil` if it publishes none.
    package var publishes: KeyOwner?
    /// Whether the endpoint is an authorization endpoint, which redirects with `state` and a code.
    package var authorizes = false
    /// Whether the endpoint's redirects name the issuer (`iss`).
    package var namesIssuer = false
    /// Whether the endpoint issues authorization codes without a redirect.
    package var givesCodes = false
    package var answersJSON = true
    /// Whether the endpoint's JSON response has members; `false` if it is empty.
    package var answersMembers = true
    /// Whether the endpoint's JSON response has a certificate for each key ID, so that clients read every member as a
    /// certificate.
    package var answersCertificates = false
    /// The path of another endpoint whose faults apply to this endpoint, too; `nil` if there is none. For example, a
    /// sign-in page's faults also apply to the target of its form.
    package var partOf: String?

    package static let api = EndpointTraits()
    package static let page = EndpointTraits(answersJSON: false)
    package static func page(mints owner: KeyOwner) -> EndpointTraits {
        EndpointTraits(mints: owner, answersJSON: false)
    }

    package var withoutMembers: EndpointTraits {
        var traits = self
        traits.answersMembers = false
        return traits
    }

    package static func keySet(_ owner: KeyOwner) -> EndpointTraits { EndpointTraits(publishes: owner) }
    package static func certificates(_ owner: KeyOwner) -> EndpointTraits {
        EndpointTraits(publishes: owner, answersCertificates: true)
    }

    package static func api(_ errors: Errors, mints: KeyOwner? = nil) -> EndpointTraits {
        EndpointTraits(errors: errors, mints: mints)
    }

    /// The error codes of authorization endpoints that are registered with IANA:
    /// <https://www.iana.org/assignments/oauth-parameters/oauth-parameters.xhtml#extensions-error>.
    private static let registeredErrors = [
        "access_denied", "account_selection_required", "consent_required", "interaction_required",
        "invalid_authorization_details", "invalid_request", "invalid_request_object", "invalid_request_uri",
        "invalid_scope", "invalid_target", "login_required", "registration_not_supported", "request_not_supported",
        "request_uri_not_supported", "server_error", "temporarily_unavailable", "unauthorized_client",
        "unmet_authentication_requirements", "unsupported_response_type",
    ]

    /// Returns the faults that are possible at an authorization endpoint, which sends errors to the client by a
    /// redirect. If `isOpen` is true, a test can also request errors that aren't registered:
    /// <https://datatracker.ietf.org/doc/html/rfc6749#section-8.5>.
    package static func authorization(
        errors names: [String], mints: KeyOwner? = nil, partOf: String? = nil, isOpen: Bool = false
    ) -> EndpointTraits {
        EndpointTraits(
            errors: Errors(names, others: registeredErrors, isOpen: isOpen, answer: nil), mints: mints,
            authorizes: true, answersJSON: false,
            partOf: partOf)
    }

    /// Returns the faults that are possible at a control API call that signs a person in natively, as an SDK on a
    /// device does.
    package static func native(
        errors names: [String], others: [String] = [], mints: KeyOwner, givesCodes: Bool = false
    ) -> EndpointTraits {
        EndpointTraits(errors: Errors(names, others: others, answer: nil), mints: mints, givesCodes: givesCodes)
    }

    /// Returns the name of a member of a fault's `effect` that the endpoint can't carry out. Returns `nil` when there
    /// is no such member.
    package func misfit(_ effect: FaultEffect) -> String? {
        if let error = effect.error {
            guard let errors, errors.accepts(error) else { return "error" }
        }
        // The outcome of an authorization has an error's name, but no description.
        if effect.description != nil, errors?.answer == nil { return "description" }
        if let token = effect.token, mints == nil, !answersClaims || !token.changesClaimsOnly { return "token" }
        if !effect.response.isEmpty, !answersJSON || !answersMembers { return "response" }
        if effect.shufflesMembers, !answersJSON || !answersMembers { return "shuffle" }
        if effect.rotation != nil, mints == nil, publishes == nil { return "rotateKeys" }
        if effect.keySet != nil, publishes == nil { return "jwks" }
        if effect.isMalformed, !answersJSON { return "malformedJSON" }
        if effect.state != nil, !authorizes { return "state" }
        if effect.issuer != nil, !namesIssuer { return "iss" }
        if effect.isCodeUsed, !authorizes, !givesCodes { return "code" }
        if effect.reply != nil { return "reply" }
        return effect.isLost ? "lose" : nil
    }

    /// A hash of everything that decides which effects a fault can have at the endpoint. All endpoints of a thousand
    /// issuers together have only a few different hashes.
    var effectsHash: Int {
        var hasher = Hasher()
        hasher.combine(errors?.names)
        hasher.combine(errors?.others)
        hasher.combine(errors?.isOpen)
        let flags = [
            errors?.answer == nil, mints == nil, publishes == nil, answersClaims, answersJSON, answersMembers,
            authorizes, namesIssuer, givesCodes,
        ]
        hasher.combine(flags)
        return hasher.finalize()
    }

    /// A list of the effects that a fault can have at the endpoint, for error messages.
    package var fitting: String {
        var names = ["status", "delay", "disconnect"]
        if let errors {
            names.append("error (\(errors.names.joined(separator: ", "))\(errors.takesOthers ? ", and others" : ""))")
            if errors.answer != nil { names.append("description") }
        }
        if mints != nil { names.append("token") } else if answersClaims { names.append("token (claims)") }
        if answersJSON, answersMembers { names += ["response", "shuffle"] }
        if mints != nil || publishes != nil { names.append("rotateKeys") }
        if publishes != nil { names.append("jwks") }
        if answersJSON { names.append("malformedJSON") }
        if authorizes { names.append("state") }
        if namesIssuer { names.append("iss") }
        if authorizes || givesCodes { names.append("code") }
        return names.joined(separator: ", ")
    }
}
