import EmulatorCore
import HTTPServer
import JSON

extension GoogleProvider {
    private static let hosts: Set<String> = [
        host, tokenHost, userInfoHost, apiHost, peopleHost, deviceHost, "google.com",
    ]

    /// Returns Google's page for an unknown address. For an unknown method, the API hosts answer the same
    /// (<https://github.com/googleapis/oauth2client/issues/750>), and the host of the sign-in pages answers 405.
    package func notServed(_ exchange: Exchange) -> Response? {
        let (host, path) = (exchange.address.host ?? "", exchange.address.path)
        // The paths below belong to Firebase.
        guard GoogleProvider.hosts.contains(host), !path.hasPrefix("/identitytoolkit/") else { return nil }
        let method = exchange.request.method
        let isOtherMethod =
            host == GoogleProvider.host && endpoints.contains { $0.hosts.contains(host) && $0.path == path }
        let diagnosis = Diagnosis(
            received: Diagnosis.quote("\(method) \(path)"), notServedAdvice(host, path))
        guard isOtherMethod else {
            return GoogleProvider.page(
                404, "Error 404 (Not Found)!!1",
                "404. That's an error. The requested URL \(path) was not found on this server. That's all we know.",
                diagnosis)
        }
        return GoogleProvider.page(
            405, "Error 405 (Method Not Allowed)!!1",
            "405. That's an error. The request method \(method) is inappropriate for the URL \(path). That's all we know.",
            diagnosis)
    }

    private func notServedAdvice(_ host: String, _ path: String) -> String {
        let methods = endpoints.filter { $0.hosts.contains(host) && $0.path == path }.map(\.method)
        if !methods.isEmpty {
            return "nothing is served here with this method: send \(methods.joined(separator: " or "))"
        }
        return "nothing is served here: of Google there is what sign-in needs"
    }

    private static func page(_ status: Int, _ title: String, _ text: String, _ diagnosis: Diagnosis) -> Response {
        let page = HTML.tag(
            "html", [("lang", "en")], .tag("head", [], .tag("meta", [("charset", "utf-8")]), .tag("title", [], title)),
            .tag("body", [], .tag("p", [], text)))
        return Response(status: status, contentType: "text/html; charset=UTF-8", body: page.document)
            .diagnosed(diagnosis)
    }
}
