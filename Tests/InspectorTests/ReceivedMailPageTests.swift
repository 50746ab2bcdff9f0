import EmulatorCore
import TestSupport
import Testing

@testable import Inspector
@testable import Understudy

@Suite(
    "The inspector's inbox: mails that came from outside",
    .oneProcess("who takes mail is set in the process, and pages show its own port"))
struct ReceivedMailPageTests {
    let fixture: InspectorFixture
    private let submission = SampleSubmission()
    private var world: World { fixture.server.worlds.main }

    init() throws {
        fixture = try InspectorFixture(isAlone: true)
        fixture.server.worlds.budget.mailRoutes.submission = submission
    }

    @Test("an empty inbox says how to send mail here") func empty() throws {
        #expect(try fixture.page("inbox").text.contains("<code>--smtp-port 1025</code>"))
        var options = RunningServer.Options()
        options.smtpPort = 0
        let listening = try InspectorFixture(options: options)
        let port = try #require(listening.server.smtpPort)
        let page = try listening.page("inbox").text
        #expect(page.contains("<bdi>localhost:\(port)</bdi>") && page.contains("no user name or password is needed"))
        #expect(try listening.page("inbox", world: "other").text.contains("with the user name <code>other</code>"))
    }

    @Test("the list says who wrote, to how many, and what became of it") func list() throws {
        try world.deliver(
            try SampleMail.rails.message(
                to: ["ada@example.com", "b@example.com", "c@example.com"]))
        try world.deliver(
            try SampleMail.rails.message(
                relay: SentMessage.Relay(title: "R", address: "a@b.c", lost: Diagnosis("nobody knows"))))
        let page = try fixture.page("inbox").text
        for part in [
            "noreply@example.com", " and 2 more", "3 files", "badge bad\">lost<",
            "Reset your pässword",
        ] { #expect(page.contains(part), "\(part)") }
        #expect(try fixture.page("inbox?search=c%40example").text.contains("inbox/m1"))
        #expect(try fixture.page("inbox?search=noreply").text.contains("inbox/m2"))
    }

    @Test("the page: envelope, text, attachments, source") func message() throws {
        try world.deliver(
            try SampleMail.rails.message(
                to: ["ada@example.com", "b@example.com"]))
        let page = try fixture.page("inbox/m1").text
        for part in [
            "bounces@example.com", "Ada Lovelace &lt;ada@example.com&gt;, b@example.com", "Hello Ada,",
            "Rechnung €.pdf",
            "application/pdf, 2 kB", "/_understudy/v1/mail/m1/attachments/1",
            "<summary>Source</summary>", "<summary>Headers</summary>", "123456", "Send the answer",
        ] { #expect(page.contains(part), "\(part)") }
        #expect(!page.contains("The mail as the recipient gets it"))
    }

    @Test("what the relay changed stands beside what was sent") func forwarded() throws {
        try world.deliver(try SampleMail.rails.message(relay: forwardingRelay()))
        let page = try fixture.page("inbox/m1").text
        for part in [
            "The mail as the recipient gets it",
            "Example Shop, Inc. &lt;noreply_at_example@privaterelay.appleid.com&gt;",
            "taken out", "/_understudy/v1/mail/m1/raw?as=forwarded", "forwarded the mail from",
            "As <bdi>ada@home.example</bdi>",
        ] { #expect(page.contains(part), "\(part)") }
    }

    @Test("an answer by the form") func reply() throws {
        try world.deliver(try SampleMail.rails.message(relay: forwardingRelay()))
        let answer = try fixture.submit("inbox/m1/reply", ["text": "Thanks"], from: "inbox/m1")
        #expect(answer.status == 303 && answer.location.hasSuffix("/_understudy/inbox/m2"))
        #expect(submission.submitted.first?.sender == "ada@home.example")
        #expect(try fixture.client.post("/_understudy/inbox/m1/reply", form: ["text": "x"]).status == 403)
        let refused = SentMessage.Relay(title: "R", address: "a@b.c", lost: Diagnosis("gone"))
        try world.deliver(try SampleMail.rails.message(relay: refused))
        #expect(!(try fixture.page("inbox/m3").text.contains("Send the answer")))
        let again = try fixture.submit("inbox/m3/reply", ["text": "Thanks"], from: "inbox")
        #expect(again.status == 409 && again.text.contains("m3 reached no recipient"))
        #expect(try fixture.submit("inbox/m9/reply", ["text": "x"], from: "inbox").status == 404)
    }

    @Test("pictures of the mail are in its frame, nothing else is") func pictures() throws {
        try world.deliver(try SampleMail.newsletter.message())
        let frame = try fixture.page("inbox/m1/html").text
        #expect(frame.contains("src=\"data:image/png;base64,iVBORw0KGgo"))
        #expect(frame.contains("src=\"cid:none\"") && !frame.contains("cid:logo"))
    }

    @Test(
        "what would make a browser go elsewhere is taken out of the frame",
        arguments: [
            "<meta http-equiv=refresh content='0;url=https://a.example'>", "<META name=referrer content=unsafe-url>",
            "<base href='https://a.example/'>", "<link rel=preconnect href=https://a.example>",
            "<LiNk rel=dns-prefetch href=//a.example>", "<svg><link rel=stylesheet href=//a.example></svg>",
        ])
    func defused(html: String) {
        let document = MailHTML(html, images: [:]).document.dropFirst("<!DOCTYPE html>\n<base target=\"_blank\">".count)
        for name in ["<meta", "<base", "<link"] { #expect(!document.lowercased().contains(name)) }
    }

    @Test("a picture that is named ever again doesn't make the frame grow without end") func growth() {
        let html = String(repeating: "<img src=cid:a>", count: 10_000)
        let image = (type: "image/png", bytes: [UInt8](repeating: 1, count: 1 << 20))
        #expect(MailHTML(html, images: ["a": image]).document.utf8.count < 25 << 20)
    }

    @Test("whatever a mail from outside holds is text on its page") func hostile() throws {
        let raw = """
            From: "</bdi><script>alert(1)</script>" <x"><script>alert(2)</script>@example.com>\r
            Subject: =?utf-8?q?=3C/bdi=3E=3Cscript=3Ealert(3)=3C/script=3E=E2=80=AE?=\r
            X-<b>: <script>alert(4)</script>\r
            Content-Type: text/x-<script>; name="<script>alert(5)</script>.png"\r
            \r
            <script>alert(6)</script>\r
            """
        try world.deliver(
            SentMessage(received: ReceivedContent(Array(raw.utf8)), from: "<script>", to: ["\"><script>"], request: nil)
        )
        for path in ["inbox", "inbox/m1"] {
            let page = try fixture.page(path).text
            #expect(!page.contains("<script>alert") && !page.contains("\u{202E}") && !page.contains("\"><script>"))
        }
    }
}
