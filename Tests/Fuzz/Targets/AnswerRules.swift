import Foundation
import HTTPServer
import JOSE
import EmulatorCore
import Recordings

/// Checks that hold for the answer to every request.
enum AnswerRules {
    /// The maximum size of a refusal's body in bytes.
    static let refusalLimit = 16_384
    static let bodyLimit = 64 << 20
    /// A tag that the fuzzers' dictionaries put into inputs. No page may contain it unescaped.
    static let markup = "<fuzz"

    /// Checks an answer. `mayBeMalformed` says that a fault may have been ordered that breaks JSON.
    static func check(
        _ response: Response, to request: Request, mayBeMalformed: Bool = false
    ) throws(Finding) {
        func fail(_ what: String) -> Finding {
            let shown = String(decoding: response.body.prefix(400), as: UTF8.self)
            return Finding(
                "\(what)\n  \(request.method) \(request.path)?\(request.query ?? "")\n  \(response.status) "
                    + "\(response.headers)\n  \(shown)")
        }
        let diagnoses = response.headers.filter { $0.name.lowercased() == "understudy-diagnosis" }.map(\.value)
        // A fault may change an answer in any way, so its answer isn't checked further.
        let isOrdered = diagnoses.contains { $0.hasPrefix("ordered fault") }
        for header in response.headers {
            let isName = !header.name.isEmpty && header.name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x3A }
            let isValue = header.value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
            guard isName, isValue else { throw fail("a header that breaks the answer: \(header)") }
        }
        let ids = response.headers.filter { $0.name.lowercased() == "understudy-request" }
        guard ids.count == 1 else { throw fail("\(ids.count) headers Understudy-Request") }
        guard response.body.count <= bodyLimit else { throw fail("\(response.body.count) bytes") }
        guard (100...599).contains(response.status) else { throw fail("no status") }
        guard !isOrdered else { return }
        guard diagnoses.count <= 1 else { throw fail("two diagnoses") }
        // The official emulator answers 501 at endpoints that it doesn't implement, and so does Understudy.
        guard response.status < 500 || response.status == 501 else { throw fail("a status that nobody ordered") }
        if response.status >= 400 {
            guard !diagnoses.isEmpty else { throw fail("a refusal without a diagnosis") }
            guard response.body.count <= refusalLimit else {
                throw fail("a refusal of \(response.body.count) bytes")
            }
        }
        if let location = response.header("Location") {
            guard diagnoses.isEmpty == (form(after: location)["error"] == nil) || !diagnoses.isEmpty else {
                throw fail("an error in a redirect without a diagnosis")
            }
            guard !location.lowercased().hasPrefix("javascript:") else { throw fail("a script as the destination") }
        }
        if !mayBeMalformed { try checkBody(response, fail) }
    }

    private static func checkBody(_ response: Response, _ fail: (String) -> Finding) throws(Finding) {
        guard !response.body.isEmpty, case .whole = response.delivery else { return }
        let type = response.header("Content-Type")?.mediaType ?? ""
        if type == "application/json" || type.hasSuffix("+json") {
            let isJSON =
                (try? JSONSerialization.jsonObject(with: Data(response.body), options: .fragmentsAllowed)) != nil
            guard isJSON else { throw fail("JSON that can't be parsed") }
        } else if type == "text/html" {
            guard response.body.firstRange(of: Array(markup.utf8)) == nil else { throw fail("markup from outside") }
        }
    }

    private static func form(after location: String) -> Form {
        Form(parsing: location.drop { $0 != "?" && $0 != "#" }.dropFirst())
    }
}

/// The redeemed codes. It finds a code that is redeemed twice.
struct SingleUses {
    private static let places: [(path: String, field: String)] = [
        ("/auth/token", "code"), ("/login/oauth/access_token", "code"), ("/login/oauth/access_token", "device_code"),
        ("/token", "code"), ("/oauth/access_token", "code"), ("accounts:resetPassword", "oobCode"),
    ]

    private var redeemed: Set<String> = []

    mutating func check(_ request: Request, _ response: Response) throws(Finding) {
        // After these calls, the random generator may begin again and issue the same codes.
        let changesTime = request.path.contains("/clock") || request.path.contains("/faults")
        if request.path.contains("/reset") || request.path.contains("/worlds/") || request.path.contains("/scenarios/")
            || changesTime
        {
            redeemed = []
            return
        }
        guard response.status == 200, response.header(Diagnosis.headerName) == nil,
            let place = SingleUses.places.first(where: {
                request.path.hasSuffix($0.path) && value($0.field, request) != nil
            }),
            let code = value(place.field, request), isSuccess(request, response)
        else { return }
        let world = request.path.hasPrefix("/~") ? String(request.path.dropFirst(2).prefix { $0 != "/" }) : ""
        let host = request.header("Host") ?? ""
        let isNew = redeemed.insert("\(world) \(host) \(place.path) \(code)").inserted
        try require(isNew, "\(place.field) \(code) was redeemed twice at \(request.path)")
    }

    private func value(_ name: String, _ request: Request) -> String? {
        request.bodyForm[name] ?? request.jsonBody?[name]?.string ?? request.queryForm[name]
    }

    private func isSuccess(_ request: Request, _ response: Response) -> Bool {
        guard !request.path.hasSuffix("resetPassword") else { return value("newPassword", request) != nil }
        let text = String(decoding: response.body, as: UTF8.self)
        return text.contains("access_token") && !text.contains("error")
    }
}
