import HTTPServer

extension Request {
    /// The access token that the request brings: in the header Authorization with one of these schemes, without case, or as
    /// the parameter access_token of the query or of a form (<https://datatracker.ietf.org/doc/html/rfc6750#section-2>).
    package func accessToken(schemes: Set<String> = ["bearer"]) -> String? {
        let words = (header("Authorization") ?? "").split(separator: " ")
        if words.count == 2, schemes.contains(words[0].lowercased()) { return String(words[1]) }
        return queryForm["access_token"] ?? bodyForm["access_token"]
    }
}
