import Foundation
import TestSupport
import Testing

/// A recording in the form of an HTTP archive, written by a test.
private struct Archive {
    private var entries: [[String: Any]] = []
    private let began: String

    init(began: String = "2026-11-20T10:00:00.000+01:00") { self.began = began }

    /// Adds an entry. `sent` is a form, or JSON if it is an object; `answer` is JSON.
    mutating func add(
        _ method: String, _ url: String, sent: Any? = nil, headers: [String: String] = [:], status: Int = 200,
        answer: Any? = nil, type: String = "application/json; charset=utf-8", location: String? = nil
    ) throws {
        func list(_ headers: [String: String]) -> [[String: String]] {
            headers.map { ["name": $0.key, "value": $0.value] }
        }
        var request: [String: Any] = ["method": method, "url": url]
        var all = headers.merging([":authority": "x", "User-Agent": "recorded"]) { first, _ in first }
        if let form = sent as? [String: String] {
            all["Content-Type"] = "application/x-www-form-urlencoded"
            request["postData"] = ["mimeType": "", "params": form.map { ["name": $0.key, "value": $0.value] }]
        } else if let sent {
            all["Content-Type"] = "application/json"
            let text = String(decoding: try JSONSerialization.data(withJSONObject: sent), as: UTF8.self)
            request["postData"] = ["mimeType": "application/json", "text": text]
        }
        request["headers"] = list(all)
        var response: [String: Any] = ["status": status]
        var own: [String: String] = [:]
        own["Location"] = location
        if let answer {
            own["Content-Type"] = type
            let data =
                if let text = answer as? String { Data(text.utf8) } else {
                    try JSONSerialization.data(withJSONObject: answer)
                }
            response["content"] = ["text": data.base64EncodedString(), "encoding": "base64"]
        }
        response["headers"] = list(own)
        entries.append(["startedDateTime": began, "request": request, "response": response])
    }

    func compare(_ arguments: String...) throws -> Shell.Result { try compare(arguments) }

    func compare(_ arguments: [String]) throws -> Shell.Result {
        let data = try JSONSerialization.data(withJSONObject: ["log": ["version": "1.2", "entries": entries]])
        return try Archive.compare(String(decoding: data, as: UTF8.self), arguments)
    }

    static func compare(_ text: String, _ arguments: [String] = []) throws -> Shell.Result {
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).har")
        try Data(text.utf8).write(to: path)
        defer { try? FileManager.default.removeItem(at: path) }
        return try Shell.run(Tool.path, ["compare", path.path()] + arguments)
    }
}

/// Recordings of real answers, as public pages and issues quote them.
@Suite("understudy compare")
struct CompareTests {
    private static let token = "https://github.com/login/oauth/access_token"
    private static let redeem = [
        "client_id": GitHubFixture.automatic, "client_secret": GitHubFixture.secret, "code": "3bec265c28d40387c511",
    ]

    /// A sign-in at GitHub with a code that is used twice. The answers are those of GitHub's documentation and of
    /// PyGithub's recordings.
    private func gitHub(
        token: [String: Any] = [
            "access_token": "gho_16C7e42F292c6912E7710c838347Ae178B4a", "token_type": "bearer", "scope": "user:email",
        ], tokenType: String = "application/json; charset=utf-8", status: Int = 200
    ) throws -> Archive {
        var archive = Archive()
        try archive.add(
            "GET",
            "https://github.com/login/oauth/authorize?client_id=\(GitHubFixture.automatic)&state=xyz&scope=user%3Aemail"
                + "&redirect_uri=https%3A%2F%2Fexample.com%2Fcallback",
            status: 302,
            location: "https://example.com/callback?code=3bec265c28d40387c511&state=xyz"
                + "&iss=https%3A%2F%2Fgithub.com%2Flogin%2Foauth")
        try archive.add("GET", "https://example.com/callback?code=3bec265c28d40387c511&state=xyz", answer: "hi")
        let json = ["Accept": "application/json"]
        try archive.add(
            "POST", CompareTests.token, sent: CompareTests.redeem, headers: json, status: status, answer: token,
            type: tokenType)
        try archive.add(
            "GET", "https://api.github.com/user/emails",
            headers: ["Authorization": "token \(token["access_token"] as? String ?? "gho_16C7e42F292c")"],
            answer: [["email": "octocat@github.com", "primary": true, "verified": true, "visibility": "public"]])
        try archive.add(
            "POST", CompareTests.token, sent: CompareTests.redeem, headers: json,
            answer: [
                "error": "bad_verification_code", "error_description": "The code passed is incorrect or expired.",
                "error_uri": "https://docs.github.com/apps/managing-oauth-apps/"
                    + "troubleshooting-oauth-app-access-token-request-errors/#bad-verification-code",
            ])
        // https://docs.github.com/rest/using-the-rest-api/troubleshooting-the-rest-api
        try archive.add(
            "GET", "https://api.github.com/user", headers: ["Authorization": "Bearer gho_nobody"], status: 401,
            answer: [
                "message": "Bad credentials", "documentation_url": "https://docs.github.com/rest", "status": "401",
            ])
        return archive
    }

    @Test("a sign-in at GitHub is the same here: later requests are sent with the code and the token of this side")
    func gitHub() throws {
        let result = try gitHub().compare()
        #expect(result.status == 0, "\(result)")
        #expect(result.output.contains("same     4  GET api.github.com/user/emails\n"))
        #expect(!result.output.contains("example.com/callback"))
        #expect(
            result.output.hasSuffix(
                "5 responses compared, 0 differ; 1 requests skipped, 1 of them because "
                    + "Understudy doesn't impersonate their hosts\n"),
            "\(result)")
    }

    @Test("a sign-in at Apple with a form post is the same, with a client secret that was valid then")
    func apple() throws {
        var archive = Archive(began: "2026-11-20T10:00:00Z")
        let now: Int64 = 1_795_168_800
        let issuer = AppleFixture.issuer
        try archive.add(
            "GET",
            "\(issuer)/auth/authorize?client_id=com.example.web&redirect_uri=https%3A%2F%2Fexample.com%2Fcallback"
                + "&response_type=code&state=s&scope=name%20email&response_mode=form_post",
            answer: "<html>sign in</html>", type: "text/html;charset=UTF-8")
        try archive.add(
            "POST", "https://example.com/callback",
            sent: [
                "state": "s", "code": "c68eafb759bcc49d9b9620ee0e3de91ba.0.mxzs.gN4k953WIuRVUIqZ4LJl9A",
                "user": #"{"name":{"firstName":"A","lastName":"B"},"email":"a@example.org"}"#,
            ], answer: "hi")
        let form = [
            "client_id": "com.example.web", "client_secret": try AppleFixture.secret(now: now - 60),
            "grant_type": "authorization_code", "redirect_uri": "https://example.com/callback",
            "code": "c68eafb759bcc49d9b9620ee0e3de91ba.0.mxzs.gN4k953WIuRVUIqZ4LJl9A",
        ]
        let claims =
            #"{"iss":"https://appleid.apple.com","aud":"com.example.web","exp":1795255200,"iat":1795168800,"sub":"000792."#
            + #"d71059495fa24644b94e4a644e2e3b4a.0638","at_hash":"sOQEniPF5EBkeGjJCjDewA","email":"a@example.org","#
            + #""email_verified":true,"auth_time":1795168799,"nonce_supported":true}"#
        func part(_ text: String) -> String {
            Data(text.utf8).base64EncodedString().replacingOccurrences(of: "=", with: "")
                .replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
        }
        // The members of https://developer.apple.com/documentation/signinwithapplerestapi/tokenresponse
        try archive.add(
            "POST", "\(issuer)/auth/token", sent: form,
            answer: [
                "access_token": "a1b2", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "r1",
                "id_token": "\(part(#"{"kid":"eXaunmL","alg":"RS256"}"#)).\(part(claims)).c2ln",
            ], type: "application/json;charset=ISO-8859-1")
        // https://github.com/ananay/apple-auth/pull/41
        try archive.add(
            "POST", "\(issuer)/auth/token", sent: form, status: 400,
            answer: ["error": "invalid_grant", "error_description": "The code has already been used."])
        let result = try archive.compare()
        #expect(result.status == 0, "\(result)")
        #expect(result.output.contains("3 responses compared, 0 differ; 1 requests skipped, 1 of them"), "\(result)")
    }

    @Test("refusals of Google and Firebase have the words here that are in public reports")
    func refusals() throws {
        var archive = Archive()
        // https://github.com/googleapis/google-api-nodejs-client/issues/750
        try archive.add(
            "POST", "https://oauth2.googleapis.com/token",
            sent: [
                "client_id": "example.apps.googleusercontent.com", "client_secret": "google-secret-for-tests",
                "grant_type": "authorization_code", "code": "nonsense",
                "redirect_uri": "http://localhost:3000/callback",
            ], status: 400, answer: ["error": "invalid_grant", "error_description": "Malformed auth code."])
        // https://github.com/t-k/fireemu, conformance/auth-production-matrix.json
        try archive.add(
            "POST", "https://identitytoolkit.googleapis.com/v1/accounts:signInWithPassword?key=demo-api-key",
            sent: ["email": "nobody@example.org", "password": "wrong", "returnSecureToken": true] as [String: Any],
            status: 400,
            answer: [
                "error": [
                    "code": 400, "message": "INVALID_LOGIN_CREDENTIALS",
                    "errors": [["message": "INVALID_LOGIN_CREDENTIALS", "domain": "global", "reason": "invalid"]],
                ] as [String: Any]
            ], type: "application/json; charset=UTF-8")
        let result = try archive.compare()
        #expect(result.status == 0, "\(result)")
        #expect(result.output.contains("2 responses compared, 0 differ"), "\(result)")
    }

    @Test("the providers are played as of the recording's day, unless another is asked for")
    func day() throws {
        var archive = Archive(began: "2025-06-12T08:00:00Z")
        try archive.add(
            "GET", "https://appleid.apple.com/.well-known/openid-configuration",
            answer: ["issuer": "https://account.apple.com"])
        #expect(try !archive.compare().output.contains("issuer:"))
        let today = try archive.compare("--as-of", "next")
        #expect(today.status == 1)
        // Both are addresses without a path.
        #expect(today.output.contains("member: only Understudy's response has jwks_uri"), "\(today)")
    }

    @Test("says what differs in status, form, members, values and errors, without secrets")
    func differences() throws {
        let secret = "gho_secretsecretsecretsecretsecretsecre"
        let result = try gitHub(
            token: ["access_token": secret, "token_type": "MAC", "id_token": "x", "scope": ["user:email"]],
            tokenType: "application/problem+json", status: 201
        ).compare()
        #expect(result.status == 1)
        for line in [
            "DIFFERS  3  POST github.com/login/oauth/access_token",
            "status: 201 in the recording, 200 in Understudy",
            "form: the content type is application/problem+json in the recording, application/json in Understudy",
            "value: token_type is \"MAC\" in the recording, \"bearer\" in Understudy",
            "member: only the recorded response has id_token",
            "form: scope is an array in the recording, a string in Understudy",
            "5 responses compared, ",
        ] {
            #expect(result.output.contains(line), "\(line): \(result)")
        }
        #expect(!(result.output + result.errors).contains(secret))
        let json = try gitHub(token: ["error": "x"]).compare("--json")
        #expect(json.status == 1)
        let document = try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any]
        let entries = document?["entries"] as? [[String: Any]] ?? []
        #expect(entries.count == 6)
        #expect(entries[1]["skipped"] as? String == "another host")
        let kinds = (entries[2]["differences"] as? [[String: String]])?.compactMap { $0["kind"] }
        #expect(kinds?.contains("member") == true)
    }

    /// A redemption of a code at GitHub that a backend recorded, and a use of its token.
    private func backend(status: Int = 200, answer: Any) throws -> Archive {
        var archive = Archive()
        try archive.add(
            "POST", CompareTests.token, sent: CompareTests.redeem,
            headers: ["Accept": "application/json", "Expect": "100-continue"], status: status, answer: answer)
        try archive.add(
            "GET", "https://api.github.com/user",
            headers: ["Authorization": "Bearer gho_16C7e42F292c6912E7710c838347Ae178B4a"], answer: ["login": "octocat"])
        return archive
    }

    @Test(
        "what needs a code or token that the recording doesn't show being issued isn't compared, unless it was refused")
    func missingCodes() throws {
        let alone = try backend(answer: ["access_token": "gho_16C7e42F292c6912E7710c838347Ae178B4a"]).compare()
        #expect(
            alone.output == """
                skipped  1  POST github.com/login/oauth/access_token: this request needs a code which isn't issued \
                anywhere in the recording
                skipped  2  GET api.github.com/user: this request needs a token which Understudy hasn't issued
                0 responses compared, 0 differ; 2 requests skipped, 0 of them because \
                Understudy doesn't impersonate their hosts

                """)
        // Nothing was compared, so nothing is known to be the same.
        #expect(alone.status == 1)
        let refused = try backend(
            answer: [
                "error": "bad_verification_code", "error_description": "The code passed is incorrect or expired.",
                "error_uri": "https://docs.github.com/apps/managing-oauth-apps/"
                    + "troubleshooting-oauth-app-access-token-request-errors/#bad-verification-code",
            ]
        ).compare()
        #expect(refused.status == 0 && refused.output.contains("same     1  POST"), "\(refused)")
        #expect(refused.output.contains("needs a token which isn't issued anywhere in the recording"), "\(refused)")
        #expect(try Archive().compare().status == 1)
    }

    @Test(
        "an answer that can't be read differs from one that can",
        arguments: [#"{"access_token":"gho_16C7e42F292c6912E77"#, "<html>sign in</html>", "not JSON"])
    func unread(answer: String) throws {
        var archive = Archive()
        try archive.add("GET", "https://appleid.apple.com/auth/keys", answer: answer)
        let result = try archive.compare()
        #expect(result.status == 1)
        #expect(
            result.output.contains("form: the response is unreadable as JSON in the recording, JSON in Understudy"),
            "\(result)")
    }

    @Test("a word of the protocol that is another here stays as it is in later requests")
    func protocolWords() throws {
        var archive = try gitHub(
            token: [
                "access_token": "gho_16C7e42F292c6912E77", "token_type": "authorization_code", "scope": "user:email",
            ])
        try archive.add(
            "POST", "https://oauth2.googleapis.com/token",
            sent: [
                "client_id": "example.apps.googleusercontent.com", "client_secret": "google-secret-for-tests",
                "grant_type": "authorization_code", "code": "nonsense",
                "redirect_uri": "http://localhost:3000/callback",
            ], status: 400, answer: ["error": "invalid_grant", "error_description": "Malformed auth code."])
        let result = try archive.compare()
        #expect(result.output.contains("6 responses compared, 1 differ"), "\(result)")
        #expect(result.output.contains("same     7  POST oauth2.googleapis.com/token\n"), "\(result)")
    }

    @Test("a token that is sent as the user name of Basic credentials is another here, too")
    func basicToken() throws {
        var archive: Archive = try gitHub()
        let basic = Data("gho_16C7e42F292c6912E7710c838347Ae178B4a:x-oauth-basic".utf8).base64EncodedString()
        try archive.add(
            "GET", "https://api.github.com/user/emails", headers: ["Authorization": "Basic \(basic)"],
            answer: [["email": "octocat@github.com", "primary": true, "verified": true, "visibility": "public"]])
        let result = try archive.compare()
        #expect(result.status == 0 && result.output.contains("6 responses compared, 0 differ"), "\(result)")
    }

    @Test("redirects and forms that lead elsewhere differ")
    func destinations() throws {
        var archive = Archive()
        let query = "client_id=\(GitHubFixture.automatic)&state=xyz&redirect_uri=https%3A%2F%2Fexample.com%2Fcallback"
        let end = "code=3bec265c28d40387c511&state=xyz&iss=https%3A%2F%2Fgithub.com%2Flogin%2Foauth"
        for address in ["https://example.com/callback", "https://example.com/other", "https://example.org/callback"] {
            try archive.add(
                "GET", "https://github.com/login/oauth/authorize?\(query)", status: 302, location: "\(address)?\(end)")
        }
        try archive.add(
            "GET",
            "https://appleid.apple.com/auth/authorize?client_id=com.example.web&response_type=code&state=s&scope=name"
                + "&redirect_uri=https%3A%2F%2Fexample.com%2Fcallback&response_mode=form_post",
            answer: "<html>sign in</html>", type: "text/html;charset=UTF-8")
        try archive.add(
            "POST", "https://example.com/elsewhere",
            sent: ["state": "s", "code": "c68eafb759bcc49d9b9", "user": #"{"name":{}}"#], answer: "hi")
        let result = try archive.compare()
        for line in [
            "same     1  GET", "leads to example.com/other in the recording, to example.com/callback in Understudy",
            "leads to example.org/callback in the recording, to example.com/callback in Understudy",
            "leads to example.com/elsewhere in the recording, to example.com/callback in Understudy",
            "4 responses compared, 3 differ",
        ] {
            #expect(result.output.contains(line), "\(line): \(result)")
        }
    }

    @Test("an account that the seed doesn't have ends it at once")
    func unknownAccount() throws {
        let result = try gitHub().compare("--account", "nobody")
        #expect(result.status == 1 && result.output.isEmpty)
        #expect(result.errors.contains("--account: no account \"nobody\" is seeded; expected \"ada\""), "\(result)")
        #expect(try gitHub().compare("--account", "ada").status == 0)
    }

    @Test("no control character of the recording reaches the terminal", arguments: [[], ["--json"]])
    func controlCharacters(options: [String]) throws {
        var archive = Archive()
        try archive.add(
            "GET", "https://api.github.com/user/\u{9B}2J", headers: ["Authorization": "Bearer gho_nobody"], status: 401,
            answer: [
                "message": "Bad \u{1B}]0;x\u{7}\r\ncredentials  für alle", "documentation_url": "x", "status": "401",
            ])
        try archive.add(
            "GET", "https://api.github.com/user", headers: ["Authorization": "Bearer gho_nobody"], status: 401,
            answer: [
                "message": "Bad \u{1B}]0;x\u{7}\r\ncredentials  für alle", "documentation_url": "x", "status": "401",
            ])
        let result = try archive.compare(options)
        let controls = result.output.unicodeScalars.filter { $0.properties.generalCategory == .control && $0 != "\n" }
        #expect(controls.isEmpty, "\(controls)")
        #expect(result.output.contains("credentials  für alle"), "\(result)")
        if options.isEmpty {
            #expect(result.output.contains("Bad \u{FFFD}]0;x\u{FFFD}\u{FFFD}\u{FFFD}credentials"), "\(result)")
        }
    }

    @Test("the end of Microsoft's texts, which is another in every answer, isn't compared")
    func traces() throws {
        let text =
            "AADSTS700016: Application with identifier 'x' was not found in the directory 'common'. This can happen if the "
            + "application has not been installed by the administrator of the tenant or consented to by any user in the "
            + "tenant. You may have sent your authentication request to the wrong tenant."
        var archive = Archive()
        for text in [
            "\(text)\r\nTrace ID: 1\r\nCorrelation ID: 2\r\nTimestamp: 2024-01-01 00:00:00Z",
            "\(text) Trace ID: 1 Correlation ID: 2 Timestamp: 2024-01-01 00:00:00Z",
            "\(text.dropLast(7))house. Trace ID: 1 Correlation ID: 2 Timestamp: 2024-01-01 00:00:00Z",
        ] {
            try archive.add(
                "POST", "https://login.microsoftonline.com/common/oauth2/v2.0/token",
                sent: ["client_id": "x", "grant_type": "authorization_code"], status: 400,
                answer: ["error": "unauthorized_client", "error_description": text])
        }
        let result = try archive.compare()
        #expect(result.output.components(separatedBy: "error_description is ").count == 2, "\(result)")
        #expect(result.output.contains("wrong house.\" in the recording, "), "\(result)")
        #expect(!result.output.contains("Trace ID"), "\(result)")
    }

    @Test(
        "a file that is no recording is refused, with the place of the mistake",
        arguments: [
            ("{", "not JSON"), ("[]", "\"log\""), (#"{"log":{}}"#, "$.log: expected a list \"entries\""),
            (#"{"log":{"entries":[{}]}}"#, "$.log.entries[0]: \"request\" is missing"),
            (
                #"{"log":{"entries":[{"request":{"method":"GET","url":5}}]}}"#,
                "$.log.entries[0].request.url: expected a string"
            ),
            (
                #"{"log":{"entries":[{"request":{"method":"G T","url":"https://x/"}}]}}"#,
                "$.log.entries[0].request.method: expected an HTTP method"
            ),
            (
                #"{"log":{"entries":[{"startedDateTime":"01/07/2026","request":{"method":"GET","url":"https://x/"},"response":{"status":200}}]}}"#,
                "$.log.entries[0].startedDateTime: expected a time such as"
            ),
            (
                #"{"log":{"entries":[{"request":{"method":"GET","url":"x y"}}]}}"#,
                "$.log.entries[0].request.url: expected an http or https URL"
            ),
            (
                #"{"log":{"entries":[{"request":{"method":"GET","url":"https://x/"},"response":{"status":"200"}}]}}"#,
                "$.log.entries[0].response.status: expected a status"
            ),
            (
                #"{"log":{"entries":[{"request":{"method":"GET","url":"https://x/","headers":[{"name":"a\nb","value":""}]},"response":{"status":200}}]}}"#,
                "$.log.entries[0].request.headers[0]: an HTTP header has an empty name"
            ),
        ])
    func malformed(text: String, words: String) throws {
        let result = try Archive.compare(text)
        #expect(result.status == 1)
        #expect(result.errors.contains(words), "\(result)")
        #expect(result.output.isEmpty)
    }

    @Test("too many entries, a missing file and a wrong option are refused")
    func limits() throws {
        let entry = #"{"request":{"method":"GET","url":"https://x/"},"response":{"status":200}}"#
        let many = Array(repeating: entry, count: 2_001).joined(separator: ",")
        let result = try Archive.compare(#"{"log":{"entries":[\#(many)]}}"#)
        #expect(result.status == 1)
        #expect(result.errors.contains("$.log.entries: the recording has 2001 entries; at most 2000 can be compared"))
        #expect(try Tool.run("compare", "/nowhere.har").status == 1)
        #expect(try Tool.run("compare").status == 64)
        #expect(try Tool.run("compare", "x.har", "--as-of", "soon").status == 64)
    }
}
