import EmulatorCore

extension OpenIDProvider {
    package var endpointNames: [String: String] {
        var names: [String: String] = [:]
        for issuer in issuers + (takesUnknown ? [.takenOnTrust("*")] : []) {
            let paths = issuer.policy.paths
            let own = [
                ("GET", "/.well-known/openid-configuration", "the discovery document"),
                ("GET", paths.keys, "the keys of ID tokens"),
                ("GET", paths.authorization, "the authorization request"),
                ("POST", paths.authorization, "the authorization request, as a form"),
                ("POST", paths.pushedRequest, "push an authorization request"),
                ("POST", paths.token, "redeem a code, refresh, or exchange"),
                ("GET", paths.userInfo, "who signed in"), ("POST", paths.introspection, "check a token"),
                ("POST", paths.revocation, "revoke a token"),
                ("POST", paths.deviceAuthorization, "begin the device flow"),
                ("GET", paths.endSession, "sign out"),
            ]
            for (method, endpoint, name) in own {
                for path in issuer.addresses(of: endpoint) { names["\(method) \(path)"] = name }
            }
        }
        return names
    }
}
