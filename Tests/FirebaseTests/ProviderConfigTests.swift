import Foundation
import TestSupport
import Testing

/// Production's recorded answers: auth-federation-production.json; see RecordedCalls.swift.
@Suite("Firebase: providers as administrators configure them")
struct ProviderConfigTests {
    private static let project = "admin/v2/projects/demo-app"
    private static let saml = "\(project)/inboundSamlConfigs"
    private static let known = "\(project)/defaultSupportedIdpConfigs"

    private static func samlBody(_ certificate: String = "a-certificate") -> [String: Any] {
        [
            "idpConfig": [
                "idpEntityId": "https://idp.example.com", "ssoUrl": "https://idp.example.com/sso",
                "idpCertificates": [["x509Certificate": certificate]],
            ] as [String: Any],
            "spConfig": [
                "spEntityId": "https://demo-app.firebaseapp.com",
                "callbackUri": "https://demo-app.firebaseapp.com/__/auth/handler",
            ],
        ]
    }

    @Test("a tenant's providers are configured apart from the project's")
    func tenants() throws {
        let fixture = try FirebaseFixture(
            seed: #"{"firebase":{"projects":[{"id":"demo-app","tenants":[{"id":"corp"}]}]}}"#)
        func ids(_ parent: String) throws -> [String] {
            let list = try fixture.admin("GET", "\(parent)/inboundSamlConfigs", version: "v2")
            return (list.json["inboundSamlConfigs"] as? [[String: Any]] ?? []).compactMap { $0["name"] as? String }
        }
        let made = try fixture.admin(
            "POST", "/tenants/corp/inboundSamlConfigs?inboundSamlConfigId=saml.corp", ProviderConfigTests.samlBody(),
            version: "v2")
        #expect(
            (made.json["name"] as? String)?.hasSuffix("/tenants/corp/inboundSamlConfigs/saml.corp") == true, "\(made)")
        #expect(try ids("/tenants/corp").count == 1)
        #expect(try ids("").isEmpty)
    }

    @Test("a change without a mask changes the fields that it has, and one with a mask those that the mask names")
    func emptyChange() throws {
        let fixture = try FirebaseFixture.recorded()
        let set = try fixture.owner(
            "PATCH", "\(ProviderConfigTests.project)/config?updateMask=smsRegionConfig,multiTenant",
            ["smsRegionConfig": ["allowByDefault": [:]], "multiTenant": ["allowTenants": true]])
        #expect(set.json["smsRegionConfig"] != nil && set.json["multiTenant"] != nil, "\(set)")
        let empty = try fixture.owner("PATCH", "\(ProviderConfigTests.project)/config", [:])
        #expect(empty.json["smsRegionConfig"] != nil && empty.json["multiTenant"] != nil, "\(empty)")
        let other = try fixture.owner(
            "PATCH", "\(ProviderConfigTests.project)/config?updateMask=smsRegionConfig",
            ["smsRegionConfig": ["allowByDefault": [:]], "multiTenant": ["allowTenants": false]])
        #expect(other.status == 200 && other.json["multiTenant"] != nil, "\(other)")
    }

    @Test("a SAML provider is made, read, changed, listed and deleted")
    func samlProviders() throws {
        let fixture = try FirebaseFixture.recorded()
        let body = ProviderConfigTests.samlBody()
        let made = try fixture.owner(
            "POST", "\(ProviderConfigTests.saml)?inboundSamlConfigId=saml.corp", body.merging(["enabled": true]) { $1 })
        let name = "projects/\(FirebaseFixture.number)/inboundSamlConfigs/saml.corp"
        let expected = body.merging(["name": name, "enabled": true]) { $1 }
        // provider-config/saml#create, #get
        #expect(made.isBody(expected), "\(made)")
        #expect(try fixture.owner("GET", "\(ProviderConfigTests.saml)/saml.corp").isBody(expected))
        // provider-config/saml#patch-sign-request
        let signed = try fixture.owner(
            "PATCH", "\(ProviderConfigTests.saml)/saml.corp?updateMask=idpConfig.signRequest",
            ["idpConfig": ["signRequest": true]])
        let certificates = (signed.json["spConfig"] as? [String: Any])?["spCertificates"] as? [[String: String]]
        #expect(certificates?.first?["x509Certificate"]?.hasPrefix("-----BEGIN CERTIFICATE-----") == true, "\(signed)")
        #expect(certificates?.first?["expiresAt"] == "2050-01-01T00:00:00Z")
        for id in ["saml.b", "saml.a"] {
            let more = try fixture.owner("POST", "\(ProviderConfigTests.saml)?inboundSamlConfigId=\(id)", body)
            #expect(more.status == 200)
        }
        func page(_ query: String) throws -> (names: [String], next: String?) {
            let list = try fixture.owner("GET", "\(ProviderConfigTests.saml)?pageSize=2\(query)")
            let configs = list.json["inboundSamlConfigs"] as? [[String: Any]] ?? []
            return (
                configs.compactMap { ($0["name"] as? String)?.components(separatedBy: "/").last }, list["nextPageToken"]
            )
        }
        let first = try page("")
        #expect(first.names == ["saml.a", "saml.b"] && first.next == "saml.b")
        #expect(try page("&pageToken=saml.b").names == ["saml.corp"])
        #expect(try fixture.owner("DELETE", "\(ProviderConfigTests.saml)/saml.corp").isBody([:]))
        for method in ["GET", "DELETE"] {
            let gone = try fixture.owner(method, "\(ProviderConfigTests.saml)/saml.corp")
            #expect(gone.status == 404 && gone.message == "CONFIGURATION_NOT_FOUND" && gone.errorStatus == "NOT_FOUND")
        }
    }

    @Test("what no configuration can be")
    func refusals() throws {
        let fixture = try FirebaseFixture.recorded()
        let body = ProviderConfigTests.samlBody()
        for (query, given, code) in [
            ("inboundSamlConfigId=corp", body, "INVALID_CONFIG_ID"), ("", body, "INVALID_CONFIG_ID"),
            ("inboundSamlConfigId=saml.x", ["idpConfig": body["idpConfig"] ?? ""], "MISSING_SAML_RELYING_PARTY_CONFIG"),
            ("inboundSamlConfigId=saml.x", ["spConfig": body["spConfig"] ?? ""], "INVALID_CONFIG"),
        ] as [(String, [String: Any], String)] {
            let refused = try fixture.owner("POST", "\(ProviderConfigTests.saml)?\(query)", given)
            #expect(
                refused.status == 400 && refused.message.hasPrefix(code) && !refused.diagnosis.isEmpty, "\(refused)")
        }
        for (id, given, code) in [
            ("example.com", ["clientId": "a"], "INVALID_CONFIG_ID"), ("google.com", [:], "MISSING_OAUTH_CLIENT_ID"),
            ("google.com", ["clientId": 7], "MISSING_OAUTH_CLIENT_ID"),
            ("apple.com", ["appleSignInConfig": ["bundleIds": "com.example.app"]], "INVALID_CONFIG"),
        ] as [(String, [String: Any], String)] {
            let refused = try fixture.owner("POST", "\(ProviderConfigTests.known)?idpId=\(id)", given)
            #expect(
                refused.status == 400 && refused.message.hasPrefix(code) && !refused.diagnosis.isEmpty, "\(refused)")
        }
    }

    @Test("a provider known by name is made, changed and deleted, and one of the seed is hidden by its deletion")
    func knownProviders() throws {
        let fixture = try FirebaseFixture()
        func names() throws -> [String] {
            let list = try fixture.owner("GET", ProviderConfigTests.known).json
            return (list["defaultSupportedIdpConfigs"] as? [[String: Any]] ?? []).compactMap {
                ($0["name"] as? String)?.components(separatedBy: "/").last
            }
        }
        let before = try names()
        #expect(before.contains("github.com"))
        // provider-config/default-supported#create, #patch-enabled
        let made = try fixture.owner(
            "POST", "\(ProviderConfigTests.known)?idpId=yahoo.com",
            ["enabled": false, "clientId": "a-client", "clientSecret": "a-secret"])
        #expect(made["clientId"] == "a-client" && made["clientSecret"] == "a-secret" && made.json["enabled"] == nil)
        let enabled = try fixture.owner(
            "PATCH", "\(ProviderConfigTests.known)/yahoo.com?updateMask=enabled", ["enabled": true])
        #expect(enabled.json["enabled"] as? Bool == true)
        #expect(try names() == (before + ["yahoo.com"]).sorted())
        let twice = try fixture.owner(
            "POST", "\(ProviderConfigTests.known)?idpId=github.com", ["clientId": "a-client"])
        #expect(twice.status == 409 && twice.message == "CONFIGURATION_EXISTS")
        func signIn() throws -> String {
            try fixture.app(
                "v1/accounts:signInWithIdp",
                [
                    "postBody": "providerId=github.com&access_token=none", "requestUri": "http://localhost",
                    "returnSecureToken": true,
                ]
            ).message
        }
        #expect(try signIn().hasPrefix("INVALID_IDP_RESPONSE"))
        let disabled = try fixture.owner(
            "PATCH", "\(ProviderConfigTests.known)/github.com?updateMask=enabled", ["enabled": false])
        #expect(disabled.status == 200 && disabled["clientId"] != nil, "\(disabled)")
        #expect(try signIn() == "OPERATION_NOT_ALLOWED : The identity provider configuration is disabled.")
        for status in [200, 404] {
            #expect(try fixture.owner("DELETE", "\(ProviderConfigTests.known)/github.com").status == status)
        }
        #expect(try signIn() == "OPERATION_NOT_ALLOWED : The identity provider configuration is not found.")
        #expect(try !names().contains("github.com"))
        let again = try fixture.owner(
            "POST", "\(ProviderConfigTests.known)?idpId=github.com",
            ["enabled": true, "clientId": "Iv1.0123456789abcdef", "clientSecret": "github-secret-for-tests"])
        #expect(again.status == 200)
        #expect(try signIn().hasPrefix("INVALID_IDP_RESPONSE"))
        let supported = try fixture.owner("GET", "admin/v2/defaultSupportedIdps").json["defaultSupportedIdps"]
        #expect((supported as? [[String: String]])?.count == 10)
    }
}
