import HTTPServer
import JOSE

// Sign-in pages keep nothing on the server: the page's form holds the authorization request, in base64url. So a page
// still works after the world's reset.

extension Form {
    /// The authorization request within a sign-in page's form.
    package var carriedRequest: Form? {
        self["request"].flatMap { Base64URL.decode($0) }.map { Form(parsing: $0) }
    }
}

extension HTML {
    /// Returns a form field with an authorization request.
    package static func carrying(_ request: Form) -> HTML {
        .hidden("request", Base64URL.encode(Array(request.encoded.utf8)))
    }
}
