import EmulatorCore
import Time

// Firebase's mails and texts go to the world's inbox. https://firebase.google.com/docs/auth/custom-email-handler

extension FirebaseCall {
    /// Puts the mail with a one-time code into the inbox. Returns a diagnosis if a provider's mail relay refused the
    /// mail. Firebase doesn't learn of that refusal, so the answer's body doesn't mention it.
    func mail(_ code: OutOfBandCode, about factor: SecondFactor? = nil) async throws -> Diagnosis? {
        let template = template(code.kind)
        let sender = Mailbox("\(template.senderLocalPart)@\(project.host)", name: template.senderDisplayName)
        let (relay, diagnosis) = try await relay(code, from: sender)
        let user = read { tables in
            code.localId.map { tables.user($0, in: pool) } ?? tables.user(email: code.email, in: pool)
        }
        let placeholders = Placeholders(values: [
            "DISPLAY_NAME": user?.displayName ?? "", "APP_NAME": project.appName, "LINK": code.link,
            "EMAIL": code.email, "NEW_EMAIL": code.newEmail ?? "", "SECOND_FACTOR": factor?.description ?? "",
        ])
        let subject = placeholders.fill(template.subject)
        try exchange.world.deliver(
            SentMessage(
                .mail, from: sender, to: Mailbox(code.recipient),
                replyTo: template.replyTo.contains("@") ? Mailbox(template.replyTo) : nil, subject: subject,
                text: placeholders.text(template.body), html: placeholders.html(template.body, title: subject),
                links: [code.link], codes: [code.code], relay: relay, request: exchange.id))
        return diagnosis
    }

    /// Asks the mail relay to which the recipient's address belongs, such as Apple's, whether it forwards the mail.
    /// Stores the relay's decision with the one-time code that the mail contains. `relay` is `nil` if the address
    /// belongs to no relay. `diagnosis` is `nil` unless the relay refuses the mail.
    private func relay(
        _ code: OutOfBandCode, from sender: Mailbox
    ) async throws -> (relay: SentMessage.Relay?, diagnosis: Diagnosis?) {
        for source in IdentitySources.all {
            guard let relayed = try await source.relay(from: sender.address, to: code.recipient, in: self) else {
                continue
            }
            try update { _ = $0.change(OutOfBandCode.self, code.code) { $0.delivery = relayed.outcome } }
            let from = relayed.sender.map { Mailbox($0, name: sender.name) }
            let relay = SentMessage.Relay(
                title: "\(source.title)'s relay", address: code.recipient, forwardedTo: relayed.forwardedTo,
                sender: relayed.sender, fields: from.map { [.init(name: "From", mailboxes: [$0])] } ?? [],
                refusal: relayed.refusal, reason: relayed.reason)
            guard relayed.forwardedTo == nil else { return (relay, nil) }
            let diagnosis = Diagnosis(
                "\(source.title)'s mail relay refused the message: \(relayed.outcome): \(relayed.reason ?? "no reason is given")"
            )
            return (relay, diagnosis)
        }
        return (nil, nil)
    }

    static let textTemplate = "%LOGIN_CODE% is your verification code for %APP_NAME%."

    /// Puts the text message with a code into the inbox. The sender in production isn't documented.
    /// <https://support.google.com/firebase/answer/7000714>
    func text(_ code: String, to phoneNumber: String) throws {
        let placeholders = Placeholders(values: ["LOGIN_CODE": code, "APP_NAME": project.appName])
        try exchange.world.deliver(
            SentMessage(
                .text, from: Mailbox(project.appName), to: Mailbox(phoneNumber),
                text: placeholders.fill(FirebaseCall.textTemplate), codes: [code],
                request: exchange.id))
    }
}

extension OutOfBandCode {
    /// The address to which the code is mailed. A code that verifies a new address is mailed to the new address.
    var recipient: String { kind == .verifyAndChangeEmail ? newEmail ?? email : email }
}

extension SecondFactor {
    /// The description of a second factor in a mail. Production's words for an authenticator app aren't documented.
    fileprivate var description: String {
        switch kind {
        case .phone(let number): number
        case .totp: displayName.map { "the authenticator app \($0)" } ?? "an authenticator app"
        }
    }
}
