import EmulatorCore
import Time

// Firebase's mails and texts go to the world's inbox. https://firebase.google.com/docs/auth/custom-email-handler

extension FirebaseCall {
    /// Sends the mail with a code. The diagnosis says that a provider's relay refused it: Firebase doesn't learn that,
    /// so the answer doesn't tell it.
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

    /// Hands a mail to the provider that relays messages to its recipient, if there is one.
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
                "\(source.title)'s relay refused the message: \(relayed.outcome): \(relayed.reason ?? "no reason is given")"
            )
            return (relay, diagnosis)
        }
        return (nil, nil)
    }

    static let textTemplate = "%LOGIN_CODE% is your verification code for %APP_NAME%."

    /// Sends the text message with a code. Its sender isn't documented.
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
    /// The address to which the code is sent: the new one to verify it, the old one to recover it.
    var recipient: String { kind == .verifyAndChangeEmail ? newEmail ?? email : email }
}

extension SecondFactor {
    /// The factor's name in a mail; Firebase's name of an authenticator app isn't documented.
    fileprivate var description: String {
        switch kind {
        case .phone(let number): number
        case .totp: displayName.map { "the authenticator app \($0)" } ?? "an authenticator app"
        }
    }
}
