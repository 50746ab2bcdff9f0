import EmulatorCore
import Foundation
import Synchronization

/// Mails made by Python's library, in the form of web frameworks.
package enum SampleMail: String, CaseIterable, Sendable {
    /// A text with HTML as its alternative, like Django's `EmailMultiAlternatives`.
    case django
    /// A text and HTML with attachments, like Rails' Action Mailer.
    case rails
    /// A calendar invitation.
    case invitation
    /// HTML that shows a picture contained in the mail.
    case newsletter

    private static let script = """
        import email.message, email.policy, email.utils, sys
        kind = sys.argv[1]
        mail = email.message.EmailMessage(policy=email.policy.SMTP)
        mail["Subject"] = "Reset your pässword"
        mail["From"] = '"Example Shop, Inc." <noreply@example.com>' if kind != "django" else "noreply@example.com"
        mail["To"] = "Ada Lovelace <ada@example.com>"
        mail["Date"] = "Tue, 01 Jan 2030 00:00:00 +0000"
        mail["Message-ID"] = "<first@example.com>"
        link = "http://localhost:8000/reset/MQ/c1f2e3-0123456789abcdef0123456789abcdef/"
        mail.set_content(f"Hello Ada,\\n\\n{link}\\n\\nYour code is 123456.\\n")
        mail.add_alternative(f'<p>Hello <b>Ada</b></p><p><a href="{link}">Reset</a></p><p>Your code is 123456.</p>', subtype="html")
        if kind == "rails":
            mail.add_attachment(b"%PDF-1.4\\n" * 300, maintype="application", subtype="pdf", filename="Rechnung €.pdf")
            mail.add_attachment("a,b\\n1,2\\n", subtype="csv", filename="data.csv")
            mail.add_attachment("<script>alert(1)</script>", subtype="html", filename="page.html")
        if kind == "invitation":
            mail.add_alternative("BEGIN:VCALENDAR\\nEND:VCALENDAR\\n", subtype="calendar", params={"method": "REQUEST"})
        if kind == "newsletter":
            mail = email.message.EmailMessage(policy=email.policy.SMTP)
            mail["Subject"] = "News"
            mail["From"] = "news@example.com"
            mail["To"] = "ada@example.com"
            mail.set_content('<h1 id="shown">News</h1><img id="logo" alt="logo" src="cid:logo@example.com"><img src="cid:none">', subtype="html")
            png = bytes.fromhex("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d4944415478da63fccff0bf1e000584027f7e2b2b1d0000000049454e44ae426082")
            mail.add_related(png, maintype="image", subtype="png", cid="<logo@example.com>")
        sys.stdout.buffer.write(mail.as_bytes())
        """

    private static let written = Mutex<[SampleMail: [UInt8]]>([:])

    /// The source, with CR LF at the end of each line.
    package var raw: [UInt8] {
        get throws {
            if let raw = SampleMail.written.withLock({ $0[self] }) { return raw }
            let command = "python3 -c \"$1\" \"$2\" | base64 -w0"
            let result = try Shell.run("bash", ["-c", command, "bash", SampleMail.script, rawValue])
            guard let raw = Data(base64Encoded: result.output), !raw.isEmpty else {
                throw TransportError(reason: result.errors)
            }
            // Tests that ask at the same time get the same mail, although each run of the script chooses other
            // boundaries.
            return SampleMail.written.withLock { written in
                let kept = written[self] ?? Array(raw)
                written[self] = kept
                return kept
            }
        }
    }

    /// Returns the mail as an inbox holds it.
    package func message(
        from sender: String = "bounces@example.com", to recipients: [String] = ["ada@example.com"],
        relay: SentMessage.Relay? = nil
    ) throws -> SentMessage {
        SentMessage(
            received: ReceivedContent(try raw), from: sender, to: recipients, relay: relay, request: nil)
    }
}

/// Returns a relay that forwards the mail to another person, from an address of the relay's own.
package func forwardingRelay() -> SentMessage.Relay {
    SentMessage.Relay(
        title: "Apple's relay", address: "x@privaterelay.appleid.com",
        forwarded: ForwardedMail(
            to: "ada@home.example", from: "noreply_at_example@privaterelay.appleid.com",
            fields: [
                .init(name: "From", value: "Example Shop, Inc. <noreply_at_example@privaterelay.appleid.com>"),
                .init(name: "Reply-To", value: ""),
            ]))
}

/// Accepts all mails but those to `refused.example`, as if by SMTP.
package final class SampleSubmission: MailSubmission {
    private let log = Mutex<[(sender: String, recipients: [String], raw: [UInt8])]>([])

    package init() {}

    package var submitted: [(sender: String, recipients: [String], raw: [UInt8])] { log.withLock { $0 } }

    package func submit(
        _ raw: [UInt8], from sender: String, to recipients: [String], in world: World, request: String?
    ) throws -> SubmittedMail {
        log.withLock { $0.append((sender, recipients, raw)) }
        let content = ReceivedContent(raw)
        var messages: [InboxMessage] = []
        var refusals: [(recipient: String, refusal: MailRefusal)] = []
        for recipient in recipients {
            var relay: SentMessage.Relay?
            if recipient.hasSuffix("@refused.example") {
                let refusal = MailRefusal(550, "5.1.1", "<\(recipient)>: refused", Diagnosis("write to somebody else"))
                refusals.append((recipient, refusal))
                relay = SentMessage.Relay(title: "The test's relay", address: recipient, refused: refusal)
            }
            messages.append(
                try world.deliver(
                    SentMessage(received: content, from: sender, to: [recipient], relay: relay, request: request)))
        }
        return SubmittedMail(messages, refusals: refusals)
    }
}
