import EmulatorCore

extension FacebookProvider {
    package var endpointNames: [String: String] {
        let names = [
            "GET VERSION/dialog/oauth": "the login dialog",
            "POST VERSION/dialog/oauth": "the answer of the login dialog",
            "GET VERSION/dialog/oauth/": "the login dialog",
            "POST VERSION/dialog/oauth/": "the answer of the login dialog",
            "GET VERSION/oauth/access_token": "redeem a code",
            "POST VERSION/oauth/access_token": "redeem a code",
            "GET VERSION/debug_token": "check a token",
            "GET VERSION/me": "who signed in",
            "GET VERSION/me/permissions": "what was granted",
            "DELETE VERSION/me/permissions": "revoke a grant",
        ]
        // Each is served with a version before it and without.
        var all = [
            "GET /.well-known/oauth/openid/jwks/": "the keys of ID tokens",
            "GET /.well-known/openid-configuration/": "the discovery document",
            "POST /_understudy/v1/facebook/authorizations": "the SDK on a device",
            "GET /*/sdk.js": "the SDK for JavaScript",
            "GET /*/all.js": "the SDK for JavaScript, by its old name",
            "GET /*/sdk/debug.js": "the SDK for JavaScript, to be read",
            "POST /x/oauth/status": "a page asks who is signed in",
            "POST /x/oauth/logout": "a page signs out",
        ]
        for (endpoint, name) in names {
            let words = endpoint.split(separator: " VERSION")
            guard let method = words.first, let path = words.last else { continue }
            all["\(method) \(path)"] = name
            all["\(method) /*\(path)"] = "\(name), with a version"
        }
        return all
    }
}
