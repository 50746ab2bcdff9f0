import Foundation
import TestSupport
import Testing

@Suite("Firebase: links in e-mails that open an app")
struct MobileLinkTests {
    static let target = "https://demo-app.firebaseapp.com/finish"
    let fixture: FirebaseFixture
    let production: Production

    init() throws {
        fixture = try FirebaseFixture(
            seed: #"{"firebase": {"projects": [{"id": "demo-app", "linkDomains": ["App.example.com"]}]}}"#)
        production = Production(fixture)
    }

    private func link(_ kind: String, _ more: [String: Any]) throws -> Answer {
        _ = try production.admin("/accounts", ["email": "ada@example.net", "password": "password123"])
        let body: [String: Any] = ["requestType": kind, "email": "ada@example.net", "returnOobLink": true]
        return try production.admin("/accounts:sendOobCode", body.merging(more) { $1 })
    }

    private func query(_ url: String?) throws -> [String: String] {
        let items = URLComponents(string: try #require(url))?.queryItems ?? []
        return Dictionary(items.map { ($0.name, $0.value ?? "") }, uniquingKeysWith: { first, _ in first })
    }

    @Test("a link for an app that applies the code is wrapped whole; else the address it leads to is")
    func wrapped() throws {
        let app: [String: Any] = ["continueUrl": MobileLinkTests.target, "iOSBundleId": "com.example.ios"]
        let inApp = try link("PASSWORD_RESET", app.merging(["canHandleCodeInApp": true]) { $1 })["oobLink"]
        #expect(inApp?.hasPrefix("https://demo-app.firebaseapp.com/__/auth/links?link=") == true)
        let inner = try query(query(inApp)["link"])
        #expect(inner["mode"] == "resetPassword" && inner["continueUrl"] == MobileLinkTests.target)
        let page = try query(link("PASSWORD_RESET", app)["oobLink"])
        #expect(page["mode"] == "resetPassword")
        #expect(page["continueUrl"]?.hasPrefix("https://demo-app.firebaseapp.com/__/auth/links?link=") == true)
        #expect(try query(page["continueUrl"])["link"] == MobileLinkTests.target)
        let web = try query(link("PASSWORD_RESET", ["continueUrl": MobileLinkTests.target])["oobLink"])
        #expect(web["continueUrl"] == MobileLinkTests.target)
    }

    @Test("the domain is one of the seed's, in any case; production's own names are refused")
    func domains() throws {
        let app: [String: Any] = [
            "continueUrl": MobileLinkTests.target, "canHandleCodeInApp": true, "androidPackageName": "com.example.app",
        ]
        let own = try link("VERIFY_EMAIL", app.merging(["linkDomain": "app.EXAMPLE.com"]) { $1 })["oobLink"]
        #expect(own?.hasPrefix("https://app.example.com/__/auth/links?link=") == true)
        for domain in ["demo-app.web.app", "demo-app.firebaseapp.com", "other.example.com"] {
            let refused = try link("VERIFY_EMAIL", app.merging(["linkDomain": domain]) { $1 })
            #expect(refused.message.hasPrefix("INVALID_HOSTING_LINK_DOMAIN : "), "\(domain): \(refused)")
        }
    }

    @Test("an app alone needs no address, one that applies the code does; Dynamic Links have ended")
    func refusals() throws {
        #expect(try link("PASSWORD_RESET", ["iOSBundleId": "com.example.ios"])["oobLink"]?.contains("links") == false)
        #expect(try link("PASSWORD_RESET", ["canHandleCodeInApp": true]).message == "MISSING_CONTINUE_URI")
        let config = ["mobileLinksConfig": ["domain": "FIREBASE_DYNAMIC_LINK_DOMAIN"]]
        let patched = try production.admin(
            "/config?updateMask=mobileLinksConfig.domain", config, method: "PATCH", version: "v2")
        #expect(patched.status == 200, "\(patched)")
        let app = ["continueUrl": MobileLinkTests.target, "iOSBundleId": "com.example.ios"]
        #expect(
            try link("PASSWORD_RESET", app).message == "DYNAMIC_LINK_NOT_ACTIVATED : FDL domain is not configured")
        #expect(try link("PASSWORD_RESET", ["continueUrl": MobileLinkTests.target]).status == 200)
    }

    @Test("a browser without the app goes on to the link inside, where it is the project's own")
    func browser() throws {
        func open(_ link: String) throws -> Answer {
            let link = try #require(link.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
            return try fixture.client.get("/demo-app.firebaseapp.com/__/auth/links?link=\(link)")
        }
        #expect(try open(MobileLinkTests.target).location == MobileLinkTests.target)
        for elsewhere in ["https://evil.example/", "javascript:alert(1)", "//evil.example", ""] {
            let answer = try open(elsewhere)
            #expect(answer.status == 400 && answer.location.isEmpty, "\(elsewhere): \(answer)")
        }
    }
}
