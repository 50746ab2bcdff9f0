import HTTPServer
import JOSE

// Sign-in pages keep nothing on the server: the authorization request travels along in the page's form, in base64url, so that
// a page outlives a reset of the world.

extension Form {
    /// The authorization request that a sign-in page's form carries along.
    package var carriedRequest: Form? {
        self["request"].flatMap { Base64URL.decode($0) }.map { Form(parsing: $0) }
    }
}

extension HTML {
    /// The field of a form that carries an authorization request along.
    package static func carrying(_ request: Form) -> HTML {
        .hidden("request", Base64URL.encode(Array(request.encoded.utf8)))
    }
}
