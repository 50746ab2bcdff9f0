import HTTPServer

extension Request {
    /// Returns the request's access token: from the header Authorization with one of these schemes, in upper or lower
    /// case, or from the parameter access_token of the query or a form
    /// (<https://datatracker.ietf.org/doc/html/rfc6750#section-2>).
    package func accessToken(schemes: Set<String> = ["bearer"]) -> String? {
        let words = (header("Authorization") ?? "").split(separator: " ")
        if words.count == 2, schemes.contains(words[0].lowercased()) { return String(words[1]) }
        return queryForm["access_token"] ?? bodyForm["access_token"]
    }
}
