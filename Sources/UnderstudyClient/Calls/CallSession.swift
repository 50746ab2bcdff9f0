import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What a daemon never does, and others do that may answer in its place: send the call elsewhere, or ask for a user name. A redirect
/// would take the control token to another host, and FoundationNetworking asks a server again for ever that wants a user name.
final class CallSession: NSObject, URLSessionTaskDelegate {
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        let asksForUser = [NSURLAuthenticationMethodHTTPBasic, NSURLAuthenticationMethodHTTPDigest]
            .contains(challenge.protectionSpace.authenticationMethod)
        completionHandler(asksForUser ? .rejectProtectionSpace : .performDefaultHandling, nil)
    }
}
