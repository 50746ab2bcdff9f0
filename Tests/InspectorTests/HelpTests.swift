import Foundation
@testable import Recordings
import TestSupport
import Testing

@testable import EmulatorCore
@testable import HTTPServer
@testable import Inspector

/// The documentation at the daemon's own address.
@Suite struct HelpTests {
    @Test("a document's tables, lists, code and links are read as GitHub shows them") func parsing() {
        let document = Document(
            parsing: """
                # Title `x`

                A line
                that goes on, with [a link](other.md#part).

                - one
                - two
                  of them

                | a | b |
                |---|---|
                | `x|y` | **bold** \\| bar |

                ```sh
                # no heading
                ```
                """)
        #expect(document.title == "Title `x`")
        #expect(
            document.blocks == [
                .heading(level: 1, "Title `x`"), .paragraph("A line that goes on, with [a link](other.md#part)."),
                .list(["one", "two of them"]), .table(head: ["a", "b"], rows: [["`x|y`", "**bold** | bar"]]),
                .code("# no heading"),
            ])
        let html = HTML.group(document.html { "to:\($0)" }).document
        #expect(html.contains("<a href=\"to:other.md#part\">a link</a>"))
        #expect(html.contains("<td data-label=\"b\"><strong>bold</strong> | bar</td>"))
    }

    @Test("every page is there, and its links lead somewhere") func links() throws {
        let fixture = try InspectorFixture()
        #expect(Documents.all.count > 20)
        for (name, document) in Documents.all {
            let page = try fixture.page("help/\(name)")
            #expect(page.status == 200 && !document.value.blocks.isEmpty, "\(name)")
            for link in page.text.components(separatedBy: "/_understudy/help/").dropFirst() {
                let target = link.prefix { $0 != "\"" && $0 != "#" }
                #expect(Documents.all[String(target)] != nil, "\(name) → \(target)")
            }
        }
        #expect(try fixture.page("help/nothing").status == 404)
        #expect(Inspector.address(of: "../recording.md#secrets", in: "errors") == "help/recording#secrets")
        #expect(Inspector.address(of: "../README.md", in: "") == nil)
    }

    @Test("the first page has README's groups, and finds what is searched for") func search() throws {
        let fixture = try InspectorFixture()
        let page = try fixture.page("help").text
        for group in ["Start", "Your stack", "Do", "Reference"] { #expect(page.contains("<h2>\(group)</h2>")) }
        for name in Documents.all.keys {
            #expect(
                page.contains("/_understudy/help/\(name)\"") || page.contains("/_understudy/help/\(name)#"), "\(name)")
        }
        let found = try fixture.page("help?q=apple+relay").text
        #expect(found.contains("/_understudy/help/mail#what-apples-relay-does"))
        #expect(!found.contains("<h2>Start</h2>"))
        let nothing = try fixture.page("help?q=zzzyyyxxx+%3Cb%3E").text
        #expect(nothing.contains("No page of the documentation has all of these words.") && !nothing.contains("<b>"))
    }

    @Test(
        "a refusal's row is found",
        arguments: [
            (
                "apple", "/auth/token",
                #"{"error":"invalid_grant","error_description":"The code has already been used."}"#,
                "redeem a code twice"
            ),
            ("apple", "/auth/token", #"{"error":"invalid_client"}"#, "a client secret with"),
            ("github", "/login/oauth/access_token", #"{"error":"bad_verification_code"}"#, "redeem a code twice"),
            (
                "firebase", "/v1/accounts:signInWithIdp",
                #"{"error":{"code":400,"message":"MISSING_OR_INVALID_NONCE : x"}}"#,
                "nonce"
            ),
            ("firebase", "/v1/accounts:signUp", #"{"error":{"message":"EMAIL_EXISTS"}}"#, "sign up with"),
        ])
    func rows(provider: String, path: String, body: String, words: String) throws {
        let response = Response(status: 400, contentType: "application/json", body: body)
        let exchange = RecordedExchange(
            id: "r1", parent: nil, world: "default", host: nil, path: path, client: nil,
            request: Request(method: "POST", target: path, headers: [], body: [], label: nil), response: response,
            time: .first, began: 0, duration: 0, fault: nil)
        let document = try #require(Documents.all["errors/\(provider)"]?.value)
        let row = try #require(document.row(about: Refusal(exchange)))
        let rows = document.blocks.flatMap { block -> [[String]] in
            if case .table(_, let rows) = block { return rows }
            return []
        }
        #expect(rows[row - 1].joined().contains(words), "\(rows[row - 1])")
    }
}
