import EmulatorCore
import HTTPServer
import JOSE
import JSON

/// The way in which Firebase's servers redeem an authorization code at an identity provider's token endpoint.
struct CodeRedemption: Sendable {
    let host: String
    let path: String
    var headers: [(name: String, value: String)] = []
    /// Whether the token request has the field `grant_type`. Some token endpoints don't need it to redeem a code.
    var sendsGrantType = true
    /// Whether the client is authenticated by a header (`client_secret_basic`) instead of by fields of the form.
    var authenticatesByHeader = false
    /// The name of the token endpoint in Firebase's error texts; `nil` if the texts contain the endpoint's URL instead.
    var phrase: String?

    func tokens(
        code: String, redirectURI: String?, client: String, secret: String, in call: FirebaseCall
    ) async throws(FirebaseError) -> JSONObject {
        let answer = await call.exchange.fetch(
            form: [
                ("grant_type", sendsGrantType ? "authorization_code" : nil),
                ("client_id", authenticatesByHeader ? nil : client),
                ("client_secret", authenticatesByHeader ? nil : secret), ("code", code), ("redirect_uri", redirectURI),
            ], host, path, headers: headers + (authenticatesByHeader ? [CodeRedemption.basic(client, secret)] : []))
        let body = answer.document?.object ?? JSONObject()
        guard answer.status == 200, body["access_token"]?.string != nil else {
            throw refusal(answer, body, redirectURI ?? call.project.handler, client)
        }
        return body
    }

    /// Returns the `Authorization` header that authenticates a client by HTTP Basic:
    /// <https://datatracker.ietf.org/doc/html/rfc6749#section-2.3.1>
    private static func basic(_ client: String, _ secret: String) -> (name: String, value: String) {
        let credentials = [client, secret].map { PercentCoding.encode(Array($0.utf8)) }.joined(separator: ":")
        return (name: "Authorization", value: "Basic \(Base64.encode(Array(credentials.utf8)))")
    }

    /// Returns Firebase's error for a code that the token endpoint refused. The text is as in production, where it
    /// shows internal values of Google's servers.
    private func refusal(
        _ answer: Response, _ body: JSONObject, _ redirectURI: String, _ client: String
    ) -> FirebaseError {
        let phrase = phrase ?? "https://\(host)\(path), OAuth2 redirect uri is:"
        let error = body["error"]?.string ?? body["error"]?["message"]?.string ?? "unknown"
        return .invalidIdP(
            "Error getting access token from \(phrase) \(redirectURI), response: "
                + "OAuth2TokenResponse{params: error=\(error), httpMetadata: HttpMetadata{status=\(answer.status), "
                + "cachePolicy=NO_CACHE, cacheDuration=java.util.Optional[], staleWhileRevalidate=java.util.Optional[]}}",
            Diagnosis(
                "the token endpoint refused the authorization code for client \"\(client)\"\(answer.becauseOfDiagnosis)"
            ))
    }
}

extension FirebaseError {
    static func invalidIdP(_ detail: String, _ diagnosis: Diagnosis) -> FirebaseError {
        FirebaseError("INVALID_IDP_RESPONSE", detail, diagnosis: diagnosis)
    }
}

extension Response {
    /// A colon and the reason why a provider refused Firebase's request, for the end of a diagnosis; empty if the
    /// provider gave no reason.
    var becauseOfDiagnosis: String { header(Diagnosis.headerName).map { ": \($0)" } ?? "" }
}
