import EmulatorCore

extension OpenIDProvider {
    package var endpointNames: [String: String] {
        var names: [String: String] = [:]
        for issuer in issuers + (takesUnknown ? [.takenOnTrust("*")] : []) {
            let paths = issuer.policy.paths
            if !issuer.isTakenOnTrust { names.merge(ProtectedResource.endpointNames(of: issuer)) { $1 } }
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
            let registration = [
                ("POST", paths.registration, "register a client"),
                ("GET", "\(paths.registration)/:client", "read a client's registration"),
                ("PUT", "\(paths.registration)/:client", "change a client's registration"),
                ("DELETE", "\(paths.registration)/:client", "end a client's registration"),
            ]
            for (method, endpoint, name) in own + (issuer.policy.registration == .off ? [] : registration) {
                for path in issuer.addresses(of: endpoint) { names["\(method) \(path)"] = name }
            }
        }
        return names
    }
}
