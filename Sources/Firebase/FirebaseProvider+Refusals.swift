import HTTPServer
import EmulatorCore

// The services' refusals before any endpoint is called.

extension FirebaseProvider {
    /// Returns the refusal of a request that is too large. The services' hosts answer as for an unreadable body, a
    /// project's domain with a page; `nil` at the daemon's own address.
    package func overBudget(_ exchange: Exchange, _ diagnosis: Diagnosis) -> Response? {
        guard let host = exchange.address.host else { return nil }
        guard [FirebaseProvider.host, FirebaseProvider.legacyHost, FirebaseProvider.tokenHost].contains(host) else {
            return Page.response(
                title: "Request too large", status: 400, look: .firebase,
                [.tag("h1", [], "This request can't be read"), .tag("p", [], diagnosis.line)]
            ).diagnosed(diagnosis)
        }
        let hasStatus = host == FirebaseProvider.tokenHost || FirebaseProvider.isSecondVersion(exchange)
        return FirebaseError.invalidArgument(diagnosis).response(hasStatus ? .status : .list)
    }

    static func isSecondVersion(_ exchange: Exchange) -> Bool {
        adminVersions.contains { exchange.address.path.hasPrefix("\($0)/") }
    }

    /// Returns Google's page for a path that doesn't exist: HTML, not JSON.
    static func unknownMethod(_ exchange: Exchange) -> Response {
        let place = "\(exchange.request.method) \(exchange.address.path)"
        let page =
            "<!DOCTYPE html>\n<html lang=en>\n<meta charset=utf-8>\n<title>Error 404 (Not Found)!!1</title>\n"
            + "<p><b>404.</b> The requested URL was not found on this server.\n"
        return Response(status: 404, contentType: "text/html; charset=UTF-8", body: page)
            .diagnosed(Diagnosis(received: Diagnosis.quote(place), "no such method, or this operation isn't played"))
    }
}
