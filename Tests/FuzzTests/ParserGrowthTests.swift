import Control
import EmulatorCore
import Foundation
import HTTPServer
import JOSE
import JSON
import Mail
import Recordings
import SMTPServer
import Testing
import Text
import Time
import Understudy
import WebAuthn

/// These tests measure the time of reading. Twice as much input may take about twice as long, whatever the input is.
@Suite("parsers take time in proportion to their input", .serialized)
struct ParserGrowthTests {
    struct Parser: Sendable, CustomTestStringConvertible {
        let name: String
        /// Makes an input of about the given number of bytes. Returns a function that reads it.
        let prepare: @Sendable (Int) -> () -> Void

        var testDescription: String { name }

        init(_ name: String, _ prepare: @escaping @Sendable (Int) -> () -> Void) {
            self.name = name
            self.prepare = prepare
        }

        /// Makes a parser whose input is `head`, then `piece` as often as it fits into the size, then `tail`.
        init(
            _ name: String, _ head: String = "", _ piece: String, _ tail: String = "",
            _ read: @escaping @Sendable ([UInt8]) -> Void
        ) {
            self.init(name) { size in
                let input = Array((head + String(repeating: piece, count: size / piece.utf8.count) + tail).utf8)
                return { read(input) }
            }
        }
    }

    @Test(
        "twice the input, at most 2.5 times the time",
        arguments: mails + addresses + flags + searches + seeds + others + replies + users)
    func growth(_ parser: Parser) {
        var size = 4 << 10
        // An input must take some milliseconds. In a shorter time, the fixed cost is too large a part.
        while size < 4 << 20, ParserGrowthTests.cost(parser.prepare(size)) < 5e6 { size *= 2 }
        var measured: [Double] = []
        // Other work on the machine may make one measurement longer, but hardly all.
        for _ in 0..<4 {
            measured = [size, 2 * size].map { size in
                let run = parser.prepare(size)
                return (0..<2).map { _ in ParserGrowthTests.cost(run) }.min() ?? 0
            }
            if measured[1] <= 2.5 * measured[0] + 1e6 { return }
        }
        Issue.record("\(parser.name), \(size) bytes and twice as many: \(measured) ns")
    }

    /// The processor time of this thread, in nanoseconds.
    private static func cost(_ body: () -> Void) -> Double {
        func now() -> Double {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
        }
        let began = now()
        body()
        return now() - began
    }

    /// Two combining marks that canonical normalization puts into the other order.
    private static let marks = "\u{301}\u{323}"
    /// Half of a flag. Code that looks for the borders of characters must count these halves from the first.
    private static let flag = "\u{1F1E6}"
}

// MARK: - Mails

extension ParserGrowthTests {
    private static let read: @Sendable ([UInt8]) -> Void = { raw in
        let message = SentMessage(received: ReceivedContent(raw), from: "a@b.c", to: ["d@e.f"], request: nil)
        #expect(message.links.count <= 100 && message.attachments.count <= 200)
    }

    private static let mails: [Parser] =
        [
            ("boundaries", "Content-Type: multipart/mixed; boundary=b\r\n\r\n", "--b\r\n"),
            ("parts", "Content-Type: multipart/mixed; boundary=b\r\n\r\n", "--b\r\n\r\nx\r\n"),
            (
                "nearly boundaries",
                "Content-Type: multipart/mixed; boundary=\(String(repeating: "b", count: 70))\r\n\r\n", "--bbbbb\r\n"
            ),
            (
                "parts of mails", "Content-Type: multipart/mixed; boundary=b\r\n\r\n",
                "--b\r\nContent-Type: message/rfc822\r\n\r\nSubject: a\r\n\r\n"
            ),
            ("encoded words", "Subject: ", "=?utf-8?q?x?= "), ("begun encoded words", "Subject: ", "=?utf-8?q?x"),
            ("marks in encoded words", "Subject: ", "=?utf-8?q?=CC=81=CC=A3?= "),
            ("folds", "Subject: x\r\n", " y\r\n"), ("empty folds", "To: x\r\n", " \r\n"), ("fields", "", "a: b\r\n"),
            ("From fields", "", "From: a@b.c, d@e.f\r\n"), ("lines that are no fields", "", "abc\r\n"),
            ("base64", "Content-Transfer-Encoding: base64\r\n\r\n", "!=%4\r\n"),
            ("quoted-printable", "Content-Transfer-Encoding: quoted-printable\r\n\r\n", "=\r\n=4="),
            ("UTF-16", "Content-Type: text/plain; charset=utf-16\r\n\r\n", "\u{301}\u{323}"),
            ("parameters", "Content-Type: text/plain", "; a*1*=utf-8''%41"),
            ("continued parameters", "Content-Type: text/plain", "; a*9=\"b\\\"\""),
            ("a quoted parameter", "Content-Type: text/plain; a=\"", "\\\"="),
            ("stars in a parameter", "Content-Type: text/plain; ", "*"),
            ("marks in a parameter's name", "Content-Type: text/plain; ", marks),
            ("escaped marks in a parameter", "Content-Disposition: attachment; filename=\"", "\\\u{301}\\\u{323}"),
            ("carriage returns", "\r\n", "\r"), ("links", "\r\n", "x://:(("), ("one link", "\r\nhttps://", "((]"),
            ("colons", "\r\n", ":"), ("colons and slashes", "\r\n", "a://"), ("codes", "\r\n", "code 1-2-3 "),
            ("lines that may hold codes", "\r\n", "1234x\n"), ("a code and flags", "\r\nyour code: 1234 x", flag),
            ("hyphens", "\r\n", "-\n"),
            ("marks", "\r\n", marks), ("flags", "\r\n", flag), ("marks in a subject", "Subject: a", marks),
            ("marks in a content ID", "Content-Type: image/png\r\nContent-ID: <a", marks),
            ("comments", "Content-Type: text/html\r\n\r\n", "<!-- <a href="),
            ("tags", "Content-Type: text/html\r\n\r\n", "<a =\"'<style>"),
            ("open tags", "Content-Type: text/html\r\n\r\n", "<"),
            ("attributes", "Content-Type: text/html\r\n\r\n<a ", "b='c"),
            ("hidden", "Content-Type: text/html\r\n\r\n", "<style></styl"),
            ("entities", "Content-Type: text/html\r\n\r\n", "&#x&;&amp"),
            ("marks by entities", "Content-Type: text/html\r\n\r\n<p>a", "&#x301;&#x323;"),
            (
                "links of marks", "Content-Type: text/html\r\n\r\n",
                "<a href=https://a/\(String(repeating: "&#x301;&#x323;", count: 500))>"
            ),
            ("flowed lines", "Content-Type: text/plain; format=flowed\r\n\r\n", "> \r\n>> a \r\n"),
            ("flowed marks", "Content-Type: text/plain; format=flowed; delsp=yes\r\n\r\na \r\n", "\(marks) \r\n"),
            ("flowed quotes", "Content-Type: text/plain; format=flowed\r\n\r\n", ">"),
            ("a world's name", "X-Understudy-World: ", flag), ("blanks", "X-Understudy-World: a", " "),
        ].map { Parser($0.0, $0.1, $0.2, "\r\n", read) }
        + [
            Parser("parts in parts") { size in
                let parts = (0..<size / 60).map { "Content-Type: multipart/mixed; boundary=b\($0)\r\n\r\n--b\($0)\r\n" }
                let raw = Array(parts.joined().utf8)
                return { read(raw) }
            },
            Parser("fields in place of others", "", "From: a\r\n b\r\n") { raw in
                let fields = (0..<20).map { InboxMessage.HeaderField(name: "X-\($0)", value: "x") }
                _ = HeaderRewriting.replace(raw, with: fields + [.init(name: "From", value: "a@b.c")])
            },
            Parser("a name with flags", "", flag, " <a@b.c>") { name in
                let field = InboxMessage.HeaderField(name: "From", value: String(decoding: name, as: UTF8.self))
                _ = HeaderRewriting.replace(Array("From: a\r\n\r\n".utf8), with: [field])
            },
        ]
}

// MARK: - Addresses

extension ParserGrowthTests {
    private static let addresses: [Parser] =
        [
            ("an address of colons", "\(String(repeating: "a", count: 2_000))@", ":"), ("groups", "", "a: b@c; "),
            ("words and colons", "", "a@:"), ("quotes and colons", "", "\"a\":"), ("comments", "", "("),
            ("closed comments", "", "(a)"), ("quotes", "", "\"\\"), ("brackets", "", "<"), ("routes", "", "<@a:b>"),
            ("addresses", "", "a@b.c,"), ("names", "", "\"a\" b <c@d>,"), ("words", "", "a "), ("marks", "a", marks),
            ("quoted marks", "", "\"\(marks)\""), ("flags", "", flag), ("flags and an address", "a@", flag),
            ("encoded words", "", "=?utf-8?b?zIHMow==?= "), ("mixed", "", "\"(<a:"),
        ].map { name, head, piece in
            Parser("in an address: \(name)") { size in
                // Only the beginning of a long field is read, so a large input has many fields.
                let text = head + String(repeating: piece, count: min(size, 30_000) / piece.utf8.count)
                let fields = Array(repeating: "From: \(text)\r\nTo: \(text)\r\n", count: max(1, size / 60_000)).joined()
                let raw = Array(fields.utf8)
                return { read(raw) }
            }
        }
        + [
            Parser("stars in a pattern") { size in
                let (pattern, text) = (String(repeating: "*a", count: size / 2), String(repeating: "a", count: size))
                return { _ = Glob(pattern + "b").matches(text) }
            }
        ]
}

// MARK: - Searches

extension ParserGrowthTests {
    private static let flags: [Parser] = [
        Parser("the end of flags", "a.", flag) { bytes in
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(text.lastIndex(ofASCII: ".") != nil)
            #expect(text.trimmed.utf8.count == bytes.count)
        },
        Parser("a text in flags", "", flag) { bytes in
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(text.firstRange(of: "ab") == nil)
            #expect(text.replacing("\u{1F1E6}b", with: "").utf8.count == bytes.count)
        },
    ]

    /// Searches as in `GET mail?text=…`. Half of the input is the text to find, and the rest is the text to search.
    private static let searches: [Parser] =
        [
            ("ASCII", "", "a", "b"), ("one other character in the text", "é", "a", "b"),
            ("one other character in what is wanted", "", "a", "é"), ("other characters", "é", "é", "b"),
            ("marks", "a", marks, "b"), ("flags", "", flag, "b"), ("capitals", "", "ǅ", "ß"), ("pairs", "", "ab", "b"),
        ].map { name, first, piece, last in
            Parser("a search: \(name)") { size in
                let text = String(repeating: piece, count: max(2, size / piece.utf8.count))
                let wanted = String(repeating: piece, count: max(1, size / 2 / piece.utf8.count)) + last
                return { _ = TextSearch(wanted).isFound(in: first + text) }
            }
        } + [
            Parser("secrets in a text that are nearly there") { size in
                let text = String(repeating: "a", count: size)
                let secrets = (0..<4).map { String(repeating: "a", count: size / 2 - $0) + "b" }
                return { _ = Mask(Set(secrets)).apply(to: text) }
            },
            Parser("short secrets in a text", "", "secret, ") { text in
                _ = Mask(["secret", "secret, s"]).apply(to: String(decoding: text, as: UTF8.self))
            },
        ]
}

// MARK: - JSON and seeds

extension ParserGrowthTests {
    private static let parse: @Sendable ([UInt8]) -> Void = { _ = try? JSONValue(parsing: $0, limits: .file) }

    private static func members(_ size: Int, _ text: (Int) -> String) -> String {
        let length = max(1, text(1_000).utf8.count + 1)
        return (0..<max(1, size / length)).map(text).joined(separator: ",")
    }

    private static func seed(_ name: String, _ text: @escaping @Sendable (Int) -> String) -> Parser {
        Parser("a seed: \(name)") { size in
            let bytes = Array(text(size).utf8)
            return {
                let source = SeedSource(name: "seed", bytes: bytes) { _ in throw CocoaError(.fileNoSuchFile) }
                _ = try? Seed([source], format: Providers.seedFormat)
            }
        }
    }

    private static let seeds: [Parser] = [
        Parser("JSON: lists", "[", "[],", "0]", parse), Parser("JSON: open lists", "", "[", "", parse),
        Parser("JSON: escapes", "\"", "\\u0301\\\"", "\"", parse),
        Parser("JSON: an open text", "\"", "\\\"", "", parse),
        Parser("JSON: marks", "\"a", marks, "\"", parse),
        Parser("JSON: digits", "[", "99999999999999999999,", "0]", parse),
        Parser("JSON: one number", "", "9", "", parse), Parser("JSON: fractions", "[", "0.1e-300,", "0]", parse),
        Parser("JSON: blanks", "", " ", "0", parse), Parser("JSON: lines before a mistake", "[", "0,\n", "x", parse),
        Parser(
            "JSON: blanks behind long texts", "[", "\"\(String(repeating: "a", count: 1_100))\"          ,", "0]", parse
        ),
        Parser("JSON: members") { size in
            let bytes = Array("{\(members(size) { "\"m\($0)\":\($0)" })}".utf8)
            return { parse(bytes) }
        },
        Parser("JSON: a member twice") { size in
            let bytes = Array("{\(members(size) { "\"m\($0)\":\($0)" }),\"m0\":0}".utf8)
            return { parse(bytes) }
        },
        Parser("JSON: members set and removed") { size in
            let names = (0..<size / 16).map { "m\($0)" }
            return {
                var object = JSONObject()
                for name in names { object[name] = .null }
                for name in names { object[name] = nil }
            }
        },
        seed("people") { "{\"accounts\":[\(members($0) { "{\"id\":\"a\($0)\",\"email\":\"a\($0)@example.com\"}" })]}" },
        seed("people of one ID") { "{\"accounts\":[\(members($0) { _ in "{\"id\":\"a\",\"email\":\"a@b.c\"}" })]}" },
        seed("unknown members") { "{\(members($0) { "\"accountz\($0)\":1" })}" },
        seed("unknown members of people") { "{\"accounts\":[\(members($0) { "{\"emial\":\($0)}" })]}" },
        seed("issuers") { "{\"openid\":{\"issuers\":[\(members($0) { "{\"id\":\"i\($0)\"}" })]}}" },
        seed("outcomes of nobody") { "{\"outcomes\":[\(members($0) { "{\"account\":\"a\($0)\"}" })]}" },
        Parser("a seed: outcomes of unknown clients") { size in
            let issuer =
                "{\"id\":\"i\",\"clients\":[\(members(size / 2) { "{\"clientID\":\"abcdefghijklmnopqrstuvwxyz\($0)\",\"redirectURIs\":[\"http://localhost/\"]}" })]}"
            let outcomes = members(size / 2) {
                "{\"provider\":\"openid\",\"client\":\"bcdefghijklmnopqrstuvwxyzab\($0)\",\"outcome\":\"cancel\"}"
            }
            let bytes = Array("{\"openid\":{\"issuers\":[\(issuer)]},\"outcomes\":[\(outcomes)]}".utf8)
            return {
                let source = SeedSource(name: "seed", bytes: bytes) { _ in throw CocoaError(.fileNoSuchFile) }
                _ = try? SeedInput.checked([source])
            }
        },
        seed("faults") { "{\"faults\":[\(members($0) { _ in "{\"at\":\"nowhere\"}" })]}" },
    ]
}

// MARK: - CBOR, SMTP and HTTP

extension ParserGrowthTests {
    private static let cbor: @Sendable ([UInt8]) -> Void = { _ = try? CBOR(parsing: $0) }

    private static let form: @Sendable ([UInt8]) -> Void = { bytes in
        let form = Form(parsing: bytes)
        _ = (form["code"], form.repeatedName, form.encoded)
    }

    private static func item(_ kind: UInt8, _ count: Int) -> [UInt8] {
        [kind << 5 | 26] + (0..<4).map { UInt8(truncatingIfNeeded: count >> (24 - 8 * $0)) }
    }

    private static let others: [Parser] = [
        Parser("CBOR: a map of numbers") { size in
            let bytes = item(5, size / 6) + (0..<size / 6).flatMap { item(0, $0) + [0xF6] }
            return { cbor(bytes) }
        },
        Parser("CBOR: a list of lists") { size in
            let bytes = item(4, size / 2) + (0..<size / 2).flatMap { _ in [0x81, 0xF6] as [UInt8] }
            return { cbor(bytes) }
        },
        Parser("CBOR: marks") { size in
            let text = Array(("a" + String(repeating: marks, count: size / 4)).utf8)
            let bytes = item(5, 1) + item(3, text.count) + text + [0xF6]
            return { cbor(bytes) }
        },
        Parser("CBOR: keys of marks") { size in
            let text = Array(String(repeating: marks, count: 200).utf8)
            let count = size / 805
            let keys = (0..<count).flatMap { item(3, text.count + 6) + text + Array("\($0 + 100_000)".utf8) + [0xF6] }
            let bytes = item(5, count) + keys
            return { cbor(bytes) }
        },
        Parser("SMTP: data", "", ".\r\n..\r") { bytes in
            var data = MessageData(limit: 10 << 20)
            _ = data.consume(bytes[...])
        },
        Parser("SMTP: data, byte by byte", "", "a.\r\n") { bytes in
            var data = MessageData(limit: 10 << 20)
            for place in bytes.indices { _ = data.consume(bytes[place...place]) }
        },
        Parser("SMTP: commands", "", "RCPT TO:<\"\\a\"@b.c> SIZE=1 BODY=8BITMIME ORCPT=rfc822;a+40b\n", "", commands),
        Parser("SMTP: recipients", "EHLO a\nMAIL FROM:<>\n", "RCPT TO:<@a:b@c.d>\n", "", commands),
        Parser("SMTP: long lines", "EHLO a\n", "MAIL FROM:<\(String(repeating: "\\\"", count: 5_000))\n", "", commands),
        Parser("SMTP: base64", "EHLO a\n", "AUTH PLAIN \(String(repeating: "AAAA", count: 2_500))\n", "", commands),
        Parser("HTTP: fields of a form", "", "a=b&", "", form), Parser("HTTP: ampersands", "", "&", "", form),
        Parser("HTTP: equals signs", "", "=", "", form), Parser("HTTP: percent signs", "", "%%4", "", form),
        Parser("HTTP: marks in a field's name", "code", "%CC%81%CC%A3", "=1", form),
        Parser("HTTP: marks in a field", "code=a", "%CC%81%CC%A3", "", form),
        Parser("HTTP: different fields") { size in
            let bytes = Array((0..<size / 8).map { "f\($0)=1" }.joined(separator: "&").utf8)
            return { form(bytes) }
        },
        Parser("HTTP: a target", "x", "://?", "") { bytes in
            let request = Request(method: "GET", target: String(decoding: bytes, as: UTF8.self))
            _ = request.queryForm.fields.count
        },
        Parser("HTTP: a type", "a/b;", " ;=\"") { _ = String(decoding: $0, as: UTF8.self).mediaType },
        Parser("HTTP: credentials", "Basic ", "Ojo6", "") { bytes in
            _ = BasicCredentials.read(header: String(decoding: bytes, as: UTF8.self))
        },
        Parser("HTTP: blanks in credentials", "Basic ", "A ", "") { bytes in
            _ = BasicCredentials.read(header: String(decoding: bytes, as: UTF8.self))
        },
        Parser("base64", "", "AAAA") { _ = Base64.decode(String(decoding: $0, as: UTF8.self)) },
        Parser("base64url", "", "_-_-") { _ = Base64URL.decode($0[...]) },
        Parser("hexadecimal", "", "aF") { _ = Hex.decode(String(decoding: $0, as: UTF8.self)) },
    ]

    /// Makes a request for a page with one further header field.
    private static func request(_ name: String, _ value: [UInt8]) -> Request {
        let headers = [(name: "Host", value: "localhost"), (name: name, value: String(decoding: value, as: UTF8.self))]
        return Request(method: "GET", target: page, headers: headers)
    }

    private static let page = "/github.com/login/oauth/authorize?client_id=Iv1.0123456789abcdef"
    private static let token = ControlToken("0123456789abcdef0123456789abcdef")
    private static let daemon = try? { () throws -> Dispatcher in
        let seed = try SeedInput.load([.builtIn])
        let worlds = WorldRegistry(seed: seed, generator: KeyGenerator())
        return try Composition.dispatcher(seed, worlds, RunningServer.Options())
    }()

    private static let replies: [Parser] =
        [
            ("cookies", "a=b; "), ("semicolons", ";"), ("blanks", " "), ("equals signs", "="),
            ("cookies of ours", "understudy_github_session=; "), ("marks", marks), ("a begun name", "understudy_"),
        ].flatMap { name, piece in
            [
                Parser("cookies: \(name)", "", piece) { bytes in
                    #expect(token?.isShown(by: request("Cookie", bytes)) == false)
                },
                Parser("a page's cookies: \(name)", "", piece) { bytes in
                    guard case .now(let answer)? = daemon?.handle(request("Cookie", bytes)) else {
                        Issue.record("the page isn't answered at once")
                        return
                    }
                    #expect(answer.status < 500)
                },
            ]
        }

    private static let commands: @Sendable ([UInt8]) -> Void = { bytes in
        var session = SMTPSession(host: "mail.test", offersTLS: true)
        _ = session.greeting { _, _ in .goOn }
        for line in bytes.split(separator: 0x0A) { _ = session.receive(Array(line)) { _, _ in .goOn } }
    }
}

// MARK: - Users of Firebase

extension ParserGrowthTests {
    private static let toolkit = "/identitytoolkit.googleapis.com/v1"
    private static let accounts = "\(toolkit)/projects/demo-app/accounts"

    private static func send(_ target: String, _ body: String) {
        let headers = [
            (name: "Host", value: "localhost"), (name: "Authorization", value: "Bearer owner"),
            (name: "Content-Type", value: "application/json"),
        ]
        let request = Request(method: "POST", target: target, headers: headers, body: Array(body.utf8))
        guard case .now(let answer)? = daemon?.handle(request) else {
            Issue.record("\(target) isn't answered at once")
            return
        }
        #expect(answer.status == 200, "\(target)")
    }

    /// Makes a parser that imports users and then sends a request about them. Both grow with the size.
    private static func user(
        _ name: String, imported: @escaping @Sendable (Int) -> String, _ target: String,
        _ body: @escaping @Sendable (Int) -> String
    ) -> Parser {
        Parser("users: \(name)") { size in
            let count = min(4_000, size / 64)
            send("\(accounts):batchCreate", "{\"users\":[\(imported(count))],\"allowOverwrite\":true}")
            let text = body(count)
            return { send(target, text) }
        }
    }

    private static func list(_ count: Int, _ text: (Int) -> String) -> String {
        (0..<count).map(text).joined(separator: ",")
    }

    private static func identities(_ id: String) -> @Sendable (Int) -> String {
        { count in
            "{\"localId\":\"\(id)\",\"email\":\"\(id)@example.org\",\"rawPassword\":\"correct horse\",\"providerUserInfo\":["
                + list(count) { "{\"providerId\":\"a.example\",\"rawId\":\"\($0)\"}" } + "]}"
        }
    }

    private static let users = [
        user(
            "identities in a token", imported: identities("token"),
            "\(toolkit)/accounts:signInWithPassword?key=demo-api-key"
        ) {
            _ in "{\"email\":\"token@example.org\",\"password\":\"correct horse\",\"returnSecureToken\":true}"
        },
        user("providers that are deleted", imported: identities("deleted"), "\(accounts):update") { count in
            "{\"localId\":\"deleted\",\"deleteProvider\":[\(list(count) { "\"p\($0)\"" })]}"
        },
        user(
            "one address, asked for often",
            imported: { list($0) { "{\"localId\":\"u\($0)\",\"email\":\"same@example.org\"}" } },
            "\(accounts):lookup"
        ) { count in
            "{\"email\":[\(list(count) { _ in "\"same@example.org\"" })]}"
        },
    ]
}
