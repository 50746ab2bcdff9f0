import Foundation
import Testing

@testable import EmulatorCore

/// How the cost of reading grows: four times as much mail may cost about four times as much, not sixteen times.
@Suite("reading hostile mails takes time in proportion to them", .serialized)
struct MailGrowthTests {
    private static let kinds: [(name: String, mail: @Sendable (Int) -> String)] = [
        ("boundaries", { "Content-Type: multipart/mixed; boundary=b\r\n\r\n" + repeated("--b\r\n", $0) }),
        ("parts", { "Content-Type: multipart/mixed; boundary=b\r\n\r\n" + repeated("--b\r\n\r\nx\r\n", $0) }),
        ("one header field", { "Subject: " + repeated("=?utf-8?q?x?= ", $0) }),
        ("folds", { "Subject: x\r\n" + repeated(" y\r\n", $0) }), ("fields", { repeated("a: b\r\n", $0) }),
        (
            "parts in parts",
            { count in
                (0..<count / 64).map { "Content-Type: multipart/mixed; boundary=b\($0)\r\n\r\n--b\($0)\r\n" }.joined()
            }
        ),
        ("base64", { "Content-Transfer-Encoding: base64\r\n\r\n" + repeated("!=%4\r\n", $0) }),
        ("quoted-printable", { "Content-Transfer-Encoding: quoted-printable\r\n\r\n" + repeated("=\r\n=4=", $0) }),
        ("links", { "\r\n" + repeated("x://:((", $0) }), ("codes", { "\r\n" + repeated("code 1-2-3 ", $0) }),
        ("comments", { "Content-Type: text/html\r\n\r\n" + repeated("<!-- <a href=", $0) }),
        ("tags", { "Content-Type: text/html\r\n\r\n" + repeated("<a =\"'<style>", $0) }),
        ("entities", { "Content-Type: text/html\r\n\r\n" + repeated("&#x&;&amp", $0) }),
        ("addresses", { "To: " + repeated("\"(<a:", $0) }),
        ("flowed lines", { "Content-Type: text/plain; format=flowed\r\n\r\n" + repeated("> \r\n>> a \r\n", $0) }),
    ]

    private static func repeated(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }

    /// The processor time of this thread, in nanoseconds.
    private func cost(_ body: () -> Void) -> Double {
        func now() -> Double {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
        }
        let began = now()
        body()
        return now() - began
    }

    private func read(_ raw: [UInt8]) {
        let message = SentMessage(
            received: ReceivedContent(raw), from: "a@b.c", to: ["d@e.f"], request: nil)
        #expect(message.links.count <= 100 && message.attachments.count <= 200)
    }

    @Test("each kind", arguments: kinds.map(\.name)) func growth(name: String) throws {
        let mail = try #require(MailGrowthTests.kinds.first { $0.name == name }).mail
        let (small, large) = (Array(mail(10_000).utf8), Array(mail(40_000).utf8))
        let costs = [small, large].map { raw in (0..<3).map { _ in cost { read(raw) } }.min() ?? 0 }
        // Below a few milliseconds, what doesn't grow outweighs what does.
        #expect(costs[1] < 10 * max(costs[0], 5e6), "\(name): \(costs)")
    }

    @Test("fields are put in place of others in one pass") func replacing() {
        let raws = [10_000, 40_000].map { Array(MailGrowthTests.repeated("From: a\r\n b\r\n", $0).utf8) }
        let fields =
            (0..<50).map { InboxMessage.HeaderField(name: "X-\($0)", value: "x") } + [
                InboxMessage.HeaderField(name: "From", value: "a@b.c")
            ]
        let costs = raws.map { raw in
            (0..<3).map { _ in cost { #expect(HeaderRewriting.replace(raw, with: fields).count < 1_000) } }.min() ?? 0
        }
        #expect(costs[1] < 10 * max(costs[0], 5e6), "\(costs)")
    }
}
