import HTTPServer
import JSON
import EmulatorCore

/// The way in which an authorization response is sent to the client.
/// <https://openid.net/specs/oauth-v2-multiple-response-types-1_0.html#ResponseModes>
package enum ResponseMode: String, Sendable {
    case query
    case fragment
    case formPost = "form_post"
    /// The authorization response is posted as a message to the window that opened this pop-up.
    case webMessage = "web_message"
}

/// The parameters of an authorization response, in their sequence, and the response mode in which they are sent.
package struct AuthorizationResponse: Sendable {
    package let redirectURI: String
    package let mode: ResponseMode
    package var fields: [Form.Field]

    package init(redirectURI: String, mode: ResponseMode, fields: [Form.Field] = []) {
        self.redirectURI = redirectURI
        self.mode = mode
        self.fields = fields
    }

    package mutating func append(_ name: String, _ value: String?) {
        if let value { fields.append(Form.Field(name: name, value: value)) }
    }

    /// The parameters of the authorization response, percent-encoded for a query or a fragment. A value that the client
    /// has sent, such as `state`, keeps its bytes.
    private var encoded: String {
        fields.map { "\(PercentCoding.encode(Array($0.name.utf8)))=\(PercentCoding.encode($0.bytes))" }.joined(
            separator: "&")
    }

    /// Returns the authorization response in any response mode but `web_message`, whose message differs between
    /// providers.
    package func deliver() -> Response {
        switch mode {
        case .query, .webMessage:
            .redirect(
                to: fields.isEmpty ? redirectURI : redirectURI + (redirectURI.contains("?") ? "&" : "?") + encoded)
        case .fragment:
            .redirect(to: redirectURI + "#" + encoded)
        case .formPost:
            formPostPage
        }
    }

    /// The page for the response mode `form_post`: a form that submits itself, and a button for browsers without
    /// scripts. <https://openid.net/specs/oauth-v2-form-post-response-mode-1_0.html>
    private var formPostPage: Response {
        let inputs = fields.map { HTML.hidden($0.name, $0.value) }
        return Page.response(
            title: "Signing in…", banner: "Understudy: a stand-in identity provider, for tests only",
            [
                .tag("h1", [], "Back to the app"),
                .tag("p", [("class", "soft")], "This page posts the answer to \(redirectURI)."),
                .element(
                    "form",
                    attributes: [
                        (name: "method", value: "post"), (name: "action", value: redirectURI),
                        (name: "id", value: "answer"),
                    ],
                    children: inputs + [.tag("button", [("type", "submit")], "Continue")]),
                .script("document.getElementById('answer').submit()"),
            ])
    }

    /// Returns a page that posts `message` to the window that opened it, and closes itself. The message only arrives if
    /// that window has the origin of the redirect URI.
    package func messagePage(_ message: JSONValue) -> Response {
        Page.response(
            title: "Signing in…", banner: "Understudy: a stand-in identity provider, for tests only",
            [
                .tag("h1", [], "You can close this window"),
                .tag(
                    "p",
                    [
                        ("id", "answer"), ("data-message", message.text),
                        ("data-origin", WebAddress(redirectURI)?.origin),
                    ],
                    "The answer went to the window that opened this one."),
                .script(
                    """
                    (function(){var answer=document.getElementById('answer').dataset;\
                    if(window.opener){window.opener.postMessage(answer.message,answer.origin);window.close()}\
                    else{document.getElementById('answer').textContent=\
                    'No window opened this one, so there is nobody to answer.'}})()
                    """),
            ])
    }
}
