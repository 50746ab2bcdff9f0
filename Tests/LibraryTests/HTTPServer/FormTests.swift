import HTTPServer
import Testing

@Suite("Forms, by the WHATWG's rules")
struct FormTests {
    @Test(
        "values are decoded",
        arguments: [
            ("a=b", ["a=b"]), ("a=b&c=d", ["a=b", "c=d"]), ("a+b=c+d", ["a b=c d"]), ("a=%41%4a", ["a=AJ"]),
            ("a=%", ["a=%"]),
            ("a=%4", ["a=%4"]), ("a=%zz", ["a=%zz"]), ("a=%%41", ["a=%A"]), ("a=%4%41", ["a=%4A"]), ("a", ["a="]),
            ("a=", ["a="]), ("=b", ["=b"]),
            ("&&a=1&&", ["a=1"]), ("a=1&a=2&a=1", ["a=1", "a=2", "a=1"]), ("a=b=c", ["a=b=c"]), ("", []),
            ("%C3%A9=%E2%82%AC", ["é=€"]),
            ("a=%ff", ["a=\u{FFFD}"]), ("a=%2B", ["a=+"]), ("a;b=c", ["a;b=c"]),
        ])
    func decoding(text: String, expected: [String]) {
        #expect(Form(parsing: text).fields.map { "\($0.name)=\($0.value)" } == expected)
    }

    @Test("the bytes of a value survive, valid UTF-8 or not")
    func bytes() {
        let form = Form(parsing: "state=%ff%00%fe+x")
        #expect(form.field("state")?.bytes == [0xFF, 0x00, 0xFE, 0x20, 0x78])
        #expect(Form(parsing: form.encoded).field("state")?.bytes == [0xFF, 0x00, 0xFE, 0x20, 0x78])
    }

    @Test("a repeated name is noticed")
    func repeated() {
        #expect(Form(parsing: "a=1&b=2&a=3").repeatedName == "a")
        #expect(Form(parsing: "a=1&b=2").repeatedName == nil)
    }

    @Test("encoding is the WHATWG's")
    func encoding() {
        let form = Form(fields: [.init(name: "a b", value: "c&d=é*-._~")])
        #expect(form.encoded == "a+b=c%26d%3D%C3%A9*-._%7E")
        #expect(PercentCoding.encode(Array("a b~/".utf8)) == "a%20b~%2F")
    }
}

@Suite("Requests")
struct RequestTests {
    @Test(
        "a target is split into path and query",
        arguments: [
            ("/a/b?c=d", "/a/b", "c=d"), ("/a", "/a", nil), ("/a?", "/a", ""), ("/a?b?c", "/a", "b?c"),
            ("http://host/a?b", "/a", "b"), ("http://host", "/", nil), ("http://host?x", "/", "x"), ("", "/", nil),
        ] as [(String, String, String?)])
    func target(text: String, path: String, query: String?) {
        let request = Request(method: "GET", target: text)
        #expect(request.path == path)
        #expect(request.query == query)
    }

    @Test(
        "a JSON body is known with or without a charset",
        arguments: [
            ("application/json", true), ("application/json; charset=utf-8", true),
            ("Application/JSON;charset=UTF-8", true),
            ("application/vnd.github+json", true), ("text/plain", false), ("application/x-www-form-urlencoded", false),
        ])
    func json(type: String, isJSON: Bool) {
        #expect(
            Request(method: "POST", target: "/", headers: [(name: "content-type", value: type)]).hasJSONBody == isJSON)
    }
}

@Suite("Routing")
struct RouterTests {
    static let router: Router<String> = {
        var router = Router<String>()
        router.add("GET", "/", "root")
        router.add("GET", "/a/b", "get")
        router.add("POST", "/a/b", "post")
        router.add("GET", "/a/:id", "item")
        return router
    }()

    private func describe(_ method: String, _ path: String) -> String {
        switch RouterTests.router.match(method, path) {
        case .found(let name, let parameters): name + parameters.map { " \($0.key)=\($0.value)" }.joined()
        case .methodNotAllowed(let methods): methods.joined(separator: " ")
        case .notFound: "none"
        }
    }

    @Test(
        "paths find their endpoint",
        arguments: [
            ("GET", "/", "root"), ("GET", "/a/b", "get"), ("HEAD", "/a/b", "get"), ("POST", "/a/b", "post"),
            ("GET", "/a/x%20y", "item id=x y"), ("GET", "/a/", "none"), ("GET", "/a", "none"), ("GET", "/a/b/", "none"),
            ("GET", "//a/b", "none"), ("DELETE", "/a/b", "GET POST HEAD OPTIONS"), ("POST", "/a/x", "GET HEAD OPTIONS"),
            ("GET", "/a/%2e%2e", "item id=.."),
        ])
    func match(method: String, path: String, expected: String) { #expect(describe(method, path) == expected) }
}
