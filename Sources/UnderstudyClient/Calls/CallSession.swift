import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Refuses redirects and requests for a user name. A daemon sends neither, but another server at its address may. A
/// redirect would carry the control token to another host, and FoundationNetworking repeats a request for ever if the
/// server wants a user name.
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
