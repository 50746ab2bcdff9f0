import EmulatorCore

// The guides repeat parts of docs/openid.md.

extension OpenIDProvider {
    /// Returns a guide for each issuer of the seed.
    package func setUpGuides(at place: SetUpPlace) -> [SetUpGuide] { issuers.map { guide($0, place) } }

    private func guide(_ issuer: Issuer, _ place: SetUpPlace) -> SetUpGuide {
        let here = place.base + issuer.alias.prefix
        let discovery = "\(here)/.well-known/openid-configuration"
        let (host, path) = (issuer.host, issuer.path)
        var steps = [
            SetUpGuide.Step(
                "Give your client the issuer's address here, by which it discovers all others:", here),
            SetUpGuide.Step("Or the discovery document's, if that is what it asks for:", discovery),
        ]
        if !issuer.followsRequest {
            steps.append(
                SetUpGuide.Step(
                    "Its tokens say another issuer than the address above. For clients that compare the two, give the issuer this "
                        + "in the seed.", #""issuerFollowsRequest": true"#))
        }
        return SetUpGuide(
            id: "openid-\(SetUpGuide.name(issuer.id))", title: "OpenID Connect: \(issuer.name)",
            about: "For any client that discovers an issuer.", steps: steps,
            libraries: [
                SetUpGuide.Library("Authlib", "server_metadata_url=\"\(discovery)\""),
                SetUpGuide.Library("social-auth-core", "SOCIAL_AUTH_OIDC_OIDC_ENDPOINT = \"\(here)\""),
                SetUpGuide.Library("go-oidc", "oidc.NewProvider(ctx, \"\(here)\")"),
                SetUpGuide.Library("mod_auth_openidc", "OIDCProviderMetadataURL \(discovery)"),
                SetUpGuide.Library(
                    "openid-client", "discovery(new URL(\"\(here)\"), …, { execute: [allowInsecureRequests] })"),
            ], document: "openid.md"
        ) { $0.host == host && $0.path.hasPrefix(path) }
    }
}
