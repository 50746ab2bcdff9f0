import EmulatorCore
import HTTPServer
import JSON

// GET /appleauth/static/jsapi/appleid/1/LOCALE/appleid.auth.js at appleid.cdn-apple.com: Sign in with Apple JS, the script
// that web pages load.
//
// Ours is `Assets/appleid.js`. Its labels are English in every locale.

extension AppleProvider {
    static let scriptHost = "appleid.cdn-apple.com"

    var scripts: [Endpoint] {
        [
            Endpoint(
                "GET", [AppleProvider.scriptHost], "/appleauth/static/jsapi/appleid/1/:locale/appleid.auth.js",
                title: "the script of Sign in with Apple JS", step: SignInStep(.page, "load Sign in with Apple JS"),
                cors: .any,
                .page
            ) { exchange in
                .browserScript(Scripts.appleid, [.string(exchange.address.base(of: AppleProvider.host))])
            }.known(by: .documented("https://developer.apple.com/documentation/signinwithapplejs")),
            Endpoint(
                "GET", [AppleProvider.scriptHost], "/appleid/button", title: "a picture of the button",
                step: SignInStep(.page, "load Sign in with Apple JS"), .page, buttonImage
            ).known(
                by: .documented(
                    "https://developer.apple.com/documentation/signinwithapple/incorporating-sign-in-with-apple-into-other-platforms"
                )),
        ]
    }
}

// GET /appleid/button at appleid.cdn-apple.com: a picture of a button, for apps without the script.
//
// Apple's is a PNG. Ours is an SVG, which a page can show in the same places, without the logo and in English. A value
// that Apple doesn't document gives 404, as its page says.

extension AppleProvider {
    func buttonImage(_ exchange: Exchange) -> Response {
        let query = exchange.request.queryForm
        var problem: Diagnosis?
        func number(_ name: String, _ range: ClosedRange<Int>, _ standard: Int) -> Int {
            guard let text = query[name], !text.isEmpty else { return standard }
            if let number = Int(text), range.contains(number) { return number }
            problem = Diagnosis(
                received: "the parameter \(name) \(Diagnosis.quote(text))",
                expected: "a whole number from \(range.lowerBound) to \(range.upperBound)",
                "send a number in this range")
            return standard
        }
        func choice(_ name: String, _ values: [String]) -> String {
            guard let text = query[name], !text.isEmpty else { return values[0] }
            if values.contains(text) { return text }
            problem = Diagnosis(
                received: "the parameter \(name) \(Diagnosis.quote(text))", expected: values.joined(separator: " or "),
                "send one of the allowed values")
            return values[0]
        }
        let (height, width) = (number("height", 30...64, 30), number("width", 130...375, 140))
        let (radius, scale) = (number("border_radius", 0...50, 15), number("scale", 1...6, 1))
        let isBlack = choice("color", ["black", "white"]) == "black"
        let hasBorder = choice("border", ["false", "true"]) == "true"
        let label =
            choice("type", ["sign-in", "continue"]) == "continue" ? "Continue with Apple" : "Sign in with Apple"
        if let problem {
            return Response(status: 404, contentType: "text/plain", body: "Not Found\n").diagnosed(problem)
                .known(by: AppleProvider.evidence.ofError("404", "Not Found"))
        }
        let (paper, ink) = isBlack ? ("#000", "#fff") : ("#fff", "#000")
        let rectangle: [(String, String?)] = [
            ("x", "0.5"), ("y", "0.5"), ("width", String(width - 1)), ("height", String(height - 1)),
            ("rx", String(min(radius, height / 2))), ("fill", paper), ("stroke", hasBorder ? ink : paper),
        ]
        let text: [(String, String?)] = [
            ("x", String(width / 2)), ("y", String(height / 2)), ("fill", ink), ("text-anchor", "middle"),
            ("dominant-baseline", "central"), ("font-family", "-apple-system, system-ui, sans-serif"),
            ("font-size", String(min(height * 43 / 100, width / 10))),
        ]
        let picture = HTML.tag(
            "svg",
            [
                ("xmlns", "http://www.w3.org/2000/svg"), ("width", String(width * scale)),
                ("height", String(height * scale)), ("viewBox", "0 0 \(width) \(height)"),
            ], .tag("rect", rectangle), .tag("text", text, label))
        return Response(
            status: 200, contentType: "image/svg+xml",
            headers: [(name: "Cross-Origin-Resource-Policy", value: "cross-origin")], body: picture.fragment)
    }
}
