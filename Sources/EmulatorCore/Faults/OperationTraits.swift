import HTTPServer
import JOSE

/// What can be ordered to go wrong at an operation.
package struct OperationTraits: Sendable {
    /// The operation's errors, by name, and how it sends them.
    package struct Errors: Sendable {
        /// In the order of the provider's documentation.
        package let names: [String]
        /// Whether it takes names that aren't in the list.
        package let takesOthers: Bool
        /// Makes the answer; `nil` where errors are sent as the outcome of an authorization.
        package let answer: (@Sendable (RequestedError, Exchange) -> Response)?

        package init(
            _ names: [String], takesOthers: Bool = false,
            answer: (@Sendable (RequestedError, Exchange) -> Response)?
        ) {
            self.names = names
            self.takesOthers = takesOthers
            self.answer = answer
        }
    }

    /// An error that a fault asks for.
    package struct RequestedError: Sendable {
        package let name: String
        package let description: String?
        package let diagnosis: Diagnosis
    }

    package var errors: Errors?
    /// Whose tokens it mints, if any.
    package var mints: KeyOwner?
    /// Whose keys it publishes, if any.
    package var publishes: KeyOwner?
    /// Whether it is an authorization endpoint: redirects with `state` and a code.
    package var authorizes = false
    /// Whether it issues codes without a redirect.
    package var givesCodes = false
    /// Whether it answers JSON.
    package var answersJSON = true
    /// Whether its answer has members: isn't empty.
    package var answersMembers = true
    /// The path of the operation of which this is a part, for a sign-in page's form.
    package var partOf: String?

    package static let api = OperationTraits()
    /// A page for people.
    package static let page = OperationTraits(answersJSON: false)
    /// A page for people behind which tokens are minted.
    package static func page(mints owner: KeyOwner) -> OperationTraits {
        OperationTraits(mints: owner, answersJSON: false)
    }

    /// The same operation, whose answer is empty.
    package var withoutMembers: OperationTraits {
        var traits = self
        traits.answersMembers = false
        return traits
    }

    package static func keySet(_ owner: KeyOwner) -> OperationTraits { OperationTraits(publishes: owner) }

    /// An operation of an API, with its errors.
    package static func api(_ errors: Errors, mints: KeyOwner? = nil) -> OperationTraits {
        OperationTraits(errors: errors, mints: mints)
    }

    /// An authorization endpoint. Its errors are sent to the client by the redirect.
    package static func authorization(
        errors names: [String], mints: KeyOwner? = nil, partOf: String? = nil
    ) -> OperationTraits {
        OperationTraits(
            errors: Errors(names, takesOthers: true, answer: nil), mints: mints, authorizes: true, answersJSON: false,
            partOf: partOf)
    }

    /// A native sign-in, by the control API.
    package static func native(
        errors names: [String], takesOthers: Bool, mints: KeyOwner, givesCodes: Bool = false
    ) -> OperationTraits {
        OperationTraits(
            errors: Errors(names, takesOthers: takesOthers, answer: nil), mints: mints, givesCodes: givesCodes)
    }

    /// The member of `effect` that can't be carried out here; `nil` when all can.
    package func misfit(_ effect: FaultEffect) -> String? {
        if let error = effect.error {
            guard let errors, errors.takesOthers || errors.names.contains(error) else { return "error" }
        }
        // As an outcome, an error has only its name.
        if effect.description != nil, errors?.answer == nil { return "description" }
        if effect.token != nil, mints == nil { return "token" }
        if !effect.response.isEmpty, !answersJSON || !answersMembers { return "response" }
        if effect.rotation != nil, mints == nil, publishes == nil { return "rotateKeys" }
        if effect.keySet != nil, publishes == nil { return "jwks" }
        if effect.isMalformed, !answersJSON { return "malformedJSON" }
        if effect.state != nil, !authorizes { return "state" }
        if effect.isCodeUsed, !authorizes, !givesCodes { return "code" }
        if effect.reply != nil { return "reply" }
        if effect.isLost { return "lose" }
        return effect.bounce == nil ? nil : "bounce"
    }

    /// A list of what can be ordered, for messages.
    package var fitting: String {
        var names = ["status", "delay", "disconnect"]
        if let errors {
            names.append("error (\(errors.names.joined(separator: ", "))\(errors.takesOthers ? ", and others" : ""))")
            if errors.answer != nil { names.append("description") }
        }
        if mints != nil { names.append("token") }
        if answersJSON, answersMembers { names.append("response") }
        if mints != nil || publishes != nil { names.append("rotateKeys") }
        if publishes != nil { names.append("jwks") }
        if answersJSON { names.append("malformedJSON") }
        if authorizes { names.append("state") }
        if authorizes || givesCodes { names.append("code") }
        return names.joined(separator: ", ")
    }
}
