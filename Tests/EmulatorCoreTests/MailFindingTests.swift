import Testing

@testable import EmulatorCore

@Suite("links and codes in mails that others wrote")
struct MailFindingTests {
    @Test(
        "links in texts",
        arguments: [
            ("Open http://localhost:8000/reset/MQ/c1-ab_/ now.", ["http://localhost:8000/reset/MQ/c1-ab_/"]),
            (
                "(see https://a.example/x_(y)), or <https://b.example/?a=1&b=2>.",
                [
                    "https://a.example/x_(y)", "https://b.example/?a=1&b=2",
                ]
            ),
            (
                "\"https://a.example\" 'https://b.example/', **https://c.example/**!",
                [
                    "https://a.example", "https://b.example/", "https://c.example/",
                ]
            ),
            ("[Verify](https://a.example/v?t=1#x)", ["https://a.example/v?t=1#x"]),
            ("myapp://login?code=1 and com.example.app://cb", ["myapp://login?code=1", "com.example.app://cb"]),
            ("„https://a.example/ü“ https://b.example/\u{3000}x", ["https://a.example/ü", "https://b.example/"]),
            ("https://a.example/ https://a.example/", ["https://a.example/"]),
            ("mailto:ada@example.com javascript://x data://y 1://z :// http://", []),
        ])
    func texts(text: String, links: [String]) { #expect(MailLinks.find(text: text, html: nil) == links) }

    @Test(
        "links in HTML",
        arguments: [
            (
                "<a href=\"https://a.example/?a=1&amp;b=2\">x</a><A class='b' HREF = 'https://b.example' >",
                [
                    "https://a.example/?a=1&b=2", "https://b.example",
                ]
            ),
            (
                "<a href=https://a.example/x>y</a><area href=' https://b.example\n/y '>",
                [
                    "https://a.example/x", "https://b.example/y",
                ]
            ),
            ("<img src=https://a.example><link href=https://b.example><!-- <a href=https://c.example> -->", []),
            ("<style>a { x: '<a href=https://a.example>' }</STYLE><a href=https://b.example>", ["https://b.example"]),
            (
                "<a href=\"javascript:alert(1)\"><a href='#x'><a href=mailto:a@b.c><a href=\"data:text/html,x\"><a href",
                []
            ),
            ("<p>Go to https://a.example/x&#63;y=1<br>now</p>", ["https://a.example/x?y=1"]),
            ("<a href=\"https://a.example/open", ["https://a.example/open"]),
        ])
    func markup(html: String, links: [String]) { #expect(MailLinks.find(text: nil, html: html) == links) }

    @Test("the text's links come first, and each once")
    func both() {
        let html = "<a href=https://logo.example>x</a><a href='https://a.example/?t=1'>y</a>"
        #expect(
            MailLinks.find(text: "https://a.example/?t=1", html: html) == [
                "https://a.example/?t=1", "https://logo.example",
            ])
    }

    @Test("a hundred links at most, none longer than 8 KB")
    func bounds() {
        let many = (0..<500).map { "https://a.example/\($0)" }.joined(separator: " ")
        #expect(MailLinks.find(text: many, html: nil).count == 100)
        let long = "https://a.example/" + String(repeating: "x", count: 9_000)
        #expect(MailLinks.find(text: long + " https://b.example", html: nil) == ["https://b.example"])
    }

    @Test(
        "codes",
        arguments: [
            // The mails are those of allauth, Auth0, Cognito, GitHub, Google, Slack and Supabase.
            ("", "Your sign-in code is listed below.\n\nX7K2PQ\n\nBye", ["X7K2PQ"]),
            ("", "Your verification code is: 123456", ["123456"]), ("", "Your code is 123456.", ["123456"]),
            ("", "Verification code: 12345678\nIf you didn't", ["12345678"]),
            ("", "G-123456 is your Google verification code.", ["G-123456"]),
            ("", "Enter this code:\n\nABC-DEF\n", ["ABC-DEF"]), ("", "Enter this code:\n\n123 456\n", ["123456"]),
            ("123456 is your code", "Hello", ["123456"]), ("", "Hello\n\n  4711  \n\nBye", ["4711"]),
            ("", "Ihr Code lautet 123456", ["123456"]), ("", "Su código es 123456.", ["123456"]),
            ("", "您的验证码是 123456", ["123456"]), ("", "認証コード：\n123456", ["123456"]),
            ("", "Your one-time password is 123-456.", ["123-456"]),
            ("", "PIN: 1234, code: 123456", ["1234", "123456"]),
            ("", "code 123456\ncode 123456", ["123456"]),
            // These texts have no code.
            ("", "Your order 123456 from 2030-01-01 12:30 costs 1234.56 or $1234", []),
            ("", "Call +15555550123 for shipping", []), ("", "A code. © 2030 Example", []),
            ("", "The code at https://a.example/123456 works until 2030-01-01.", []), ("", "IMPORTANT", []),
            ("", "123\n123456789", []),
        ])
    func codes(subject: String, text: String, codes: [String]) {
        #expect(MailCodes.find(subject: subject, text: text) == codes)
    }

    @Test("codes in HTML, where the mail has no text")
    func codesInMarkup() {
        let html =
            "<style>b{}</style><p>Your verification code is: <b>123&#52;56</b></p><table><td>4711</td><td>x</td></table>"
        let mail = "Content-Type: text/html\r\n\r\n\(html)"
        let message = SentMessage(
            received: ReceivedContent(Array(mail.utf8)), from: "a@example.com", to: ["b@example.com"], request: nil)
        #expect(message.codes == ["123456", "4711"])
    }

    @Test("twenty codes at most")
    func codeBounds() {
        let many = (1_000..<9_999).map { "\($0)" }.joined(separator: "\n")
        #expect(MailCodes.find(subject: "", text: many).count == 20)
    }
}
