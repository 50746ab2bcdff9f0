import Foundation
import TestSupport
import Testing

/// The table of operations in `docs/firebase.md`, compared with Google's discovery documents.
@Suite("The documentation's table of Firebase's operations")
struct OperationTableTests {
    /// Every operation of identitytoolkit v1 and v2 and securetoken v1, with a request for it. Operations below tenants
    /// repeat the projects'; IAM's policies aren't authentication.
    static let endpoints: [String: (method: String, path: String)] = {
        var all: [String: (method: String, path: String)] = [
            "securetoken.token": ("POST", "/securetoken.googleapis.com/v1/token"),
            "accounts.revokeToken": ("POST", "/v2/accounts:revokeToken"), "v1.getProjects": ("GET", "/v1/projects"),
            "v1.getRecaptchaParams": ("GET", "/v1/recaptchaParams"),
            "v2.getRecaptchaConfig": ("GET", "/v2/recaptchaConfig"),
            "v1.getSessionCookiePublicKeys": ("GET", "/v1/sessionCookiePublicKeys"),
            "v2.getPasswordPolicy": ("GET", "/v2/passwordPolicy"),
            "defaultSupportedIdps.list": ("GET", "/v2/defaultSupportedIdps"),
            "projects.accounts": ("POST", "/v1/projects/demo-app/accounts"),
            "projects.accounts.batchGet": ("GET", "/v1/projects/demo-app/accounts:batchGet"),
            "projects.createSessionCookie": ("POST", "/v1/projects/demo-app:createSessionCookie"),
            "projects.getConfig": ("GET", "/v2/projects/demo-app/config"),
            "projects.updateConfig": ("PATCH", "/v2/projects/demo-app/config"),
            "projects.tenants.create": ("POST", "/v2/projects/demo-app/tenants"),
            "projects.tenants.list": ("GET", "/v2/projects/demo-app/tenants"),
            "projects.tenants.get": ("GET", "/v2/projects/demo-app/tenants/t"),
            "projects.tenants.patch": ("PATCH", "/v2/projects/demo-app/tenants/t"),
            "projects.tenants.delete": ("DELETE", "/v2/projects/demo-app/tenants/t"),
            "projects.identityPlatform.initializeAuth": (
                "POST", "/v2/projects/demo-app/identityPlatform:initializeAuth"
            ),
        ]
        for name in [
            "createAuthUri", "delete", "issueSamlResponse", "lookup", "resetPassword", "sendOobCode",
            "sendVerificationCode",
            "signInWithCustomToken", "signInWithEmailLink", "signInWithGameCenter", "signInWithIdp",
            "signInWithPassword",
            "signInWithPhoneNumber", "signUp", "update", "verifyIosClient",
        ] { all["accounts.\(name)"] = ("POST", "/v1/accounts:\(name)") }
        for name in [
            "mfaEnrollment:start", "mfaEnrollment:finalize", "mfaEnrollment:withdraw", "mfaSignIn:start",
            "mfaSignIn:finalize",
            "passkeyEnrollment:start", "passkeyEnrollment:finalize", "passkeySignIn:start", "passkeySignIn:finalize",
        ] { all["accounts.\(name.replacingOccurrences(of: ":", with: "."))"] = ("POST", "/v2/accounts/\(name)") }
        for name in ["lookup", "update", "delete", "sendOobCode", "query", "batchCreate", "batchDelete"] {
            all["projects.accounts.\(name)"] = ("POST", "/v1/projects/demo-app/accounts:\(name)")
        }
        for name in ["defaultSupportedIdpConfigs", "oauthIdpConfigs", "inboundSamlConfigs"] {
            all["projects.\(name)"] = ("GET", "/v2/projects/demo-app/\(name)")
        }
        return all
    }()

    @Test("every operation is in it, and is served or refused as it says")
    func table() throws {
        let fixture = try FirebaseFixture()
        var seen: Set<String> = []
        for row in try Repository.read("docs/firebase.md").matches(of: /\n\| ((?:`[\w.]+` ?)+) \| (yes|differs|no) \|/)
        {
            for name in row.1.matches(of: /`([\w.]+)`/).map({ String($0.1) }) {
                let endpoint = try #require(OperationTableTests.endpoints[name], "\(name) isn't an operation")
                #expect(seen.insert(name).inserted, "\(name) is there twice")
                let path = endpoint.path.hasPrefix("/v") ? FirebaseFixture.toolkit + endpoint.path : endpoint.path
                let answer = try fixture.client.request(
                    endpoint.method, "\(path)?key=\(FirebaseFixture.key)",
                    headers: ["Authorization": "Bearer owner", "Content-Type": "application/json"],
                    body: Array("{}".utf8))
                #expect((answer.status == 501) == (row.2 == "no"), "\(name): \(answer)")
                #expect(![404, 405].contains(answer.status), "\(name): \(answer)")
            }
        }
        #expect(Set(OperationTableTests.endpoints.keys).subtracting(seen).isEmpty)
    }
}
