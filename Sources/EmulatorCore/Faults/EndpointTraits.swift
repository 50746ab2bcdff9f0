import HTTPServer
import JOSE
import JSON

/// The faults that can be ordered at an endpoint.
package struct EndpointTraits: Sendable {
    /// The endpoint's errors, by name, and how it sends them.
    package struct Errors: Sendable {
        /// The names of the errors, in the order of the provider's documentation.
        package let names: [String]
        /// The names that can be ordered besides the listed ones.
        package let others: [String]
        /// Whether a name that isn't listed can be ordered, too, unless it looks like a misspelling of a listed one.
        package let isOpen: Bool
        /// A function that makes the response of an ordered error; `nil` at authorization endpoints, which send errors by
        /// a redirect.
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

        package func takes(_ name: String) -> Bool {
            names.contains(name) || others.contains(name) || isOpen && hint(for: name).isEmpty
        }

        /// Returns a hint at the name that may be meant.
        func hint(for name: String) -> String { Spelling.hint(name, among: names + others) }
    }

    /// An error that a fault asks for.
    package struct RequestedError: Sendable {
        package let name: String
        package let description: String?
        package let diagnosis: Diagnosis
    }

    package var errors: Errors?
    /// The owner of the keys with which the endpoint signs tokens; `nil` where it mints none.
    package var mints: KeyOwner?
    /// Whether the endpoint answers claims as JSON. An order that changes the claims of tokens changes these, too.
    package var answersClaims = false
    /// The owner of the keys that the endpoint publishes; `nil` where it publishes none.
    package var publishes: KeyOwner?
    /// Whether the endpoint is an authorization endpoint, which redirects with `state` and a code.
    package var authorizes = false
    /// Whether the endpoint's redirects name the issuer.
    package var namesIssuer = false
    /// Whether the endpoint issues codes without a redirect.
    package var givesCodes = false
    /// Whether the endpoint answers JSON.
    package var answersJSON = true
    /// Whether the endpoint's answer has members, because it isn't empty.
    package var answersMembers = true
    /// Whether the endpoint answers a certificate for each key ID, so that clients read every member as a certificate.
    package var answersCertificates = false
    /// The path of the endpoint of which this is a part, for a sign-in page's form.
    package var partOf: String?

    package static let api = EndpointTraits()
    /// The traits of a page for people.
    package static let page = EndpointTraits(answersJSON: false)
    /// Returns the traits of a page for people that leads to tokens.
    package static func page(mints owner: KeyOwner) -> EndpointTraits {
        EndpointTraits(mints: owner, answersJSON: false)
    }

    /// These traits for an endpoint whose answer is empty.
    package var withoutMembers: EndpointTraits {
        var traits = self
        traits.answersMembers = false
        return traits
    }

    package static func keySet(_ owner: KeyOwner) -> EndpointTraits { EndpointTraits(publishes: owner) }
    package static func certificates(_ owner: KeyOwner) -> EndpointTraits {
        EndpointTraits(publishes: owner, answersCertificates: true)
    }

    /// Returns the traits of an API's endpoint, with its errors.
    package static func api(_ errors: Errors, mints: KeyOwner? = nil) -> EndpointTraits {
        EndpointTraits(errors: errors, mints: mints)
    }

    /// The errors of authorization endpoints that are registered:
    /// <https://www.iana.org/assignments/oauth-parameters/oauth-parameters.xhtml#extensions-error>.
    private static let registeredErrors = [
        "access_denied", "account_selection_required", "consent_required", "interaction_required",
        "invalid_authorization_details", "invalid_request", "invalid_request_object", "invalid_request_uri",
        "invalid_scope", "invalid_target", "login_required", "registration_not_supported", "request_not_supported",
        "request_uri_not_supported", "server_error", "temporarily_unavailable", "unauthorized_client",
        "unmet_authentication_requirements", "unsupported_response_type",
    ]

    /// Returns the traits of an authorization endpoint, which sends errors to the client by a redirect. If it `isOpen`,
    /// errors that aren't registered can be ordered, too: <https://datatracker.ietf.org/doc/html/rfc6749#section-8.5>.
    package static func authorization(
        errors names: [String], mints: KeyOwner? = nil, partOf: String? = nil, isOpen: Bool = false
    ) -> EndpointTraits {
        EndpointTraits(
            errors: Errors(names, others: registeredErrors, isOpen: isOpen, answer: nil), mints: mints,
            authorizes: true, answersJSON: false,
            partOf: partOf)
    }

    /// Returns the traits of a control API call that signs somebody in natively, as an SDK on a device does.
    package static func native(
        errors names: [String], others: [String] = [], mints: KeyOwner, givesCodes: Bool = false
    ) -> EndpointTraits {
        EndpointTraits(errors: Errors(names, others: others, answer: nil), mints: mints, givesCodes: givesCodes)
    }

    /// Returns the member of `effect` that can't be carried out here; `nil` when all can.
    package func misfit(_ effect: FaultEffect) -> String? {
        if let error = effect.error {
            guard let errors, errors.takes(error) else { return "error" }
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

    /// A list of the effects that can be ordered, for messages.
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
