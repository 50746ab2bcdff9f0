import Foundation
import GitHub
import TestSupport
import Testing

@Suite("GitHub: the form of tokens")
struct TokenFormTests {
    @Test(
        "checksums of tokens that GitHub gave out and revoked",
        arguments: [
            "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", "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",
            "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", "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",
            "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",
        ])
    func known(token: String) {
        #expect(GitHubToken.checksumHolds(in: token) == true)
        #expect(GitHubToken.checksumHolds(in: String(token.dropLast()) + "!") == false)
    }

    @Test("small checksums are padded to six digits")
    func padding() {
        for (body, sum) in [
            (String(repeating: "A", count: 30), "0uCPlr"), ("aB7cD8eF9gH0jK1mN2pQ3rS4tU5vW6", "2M5jQM"),
            ("abcdefgh12345678903ZZZZZZZZZZZ", "0p5S0Y"),
        ] {
            #expect(String(decoding: GitHubToken.checksum(of: Array(body.utf8)), as: UTF8.self) == sum)
        }
    }

    @Test("kinds are told by the prefix, and lengths are judged")
    func kinds() {
        #expect(GitHubToken.kind(of: "gho_x") == .oauthApp)
        #expect(GitHubToken.kind(of: "ghr_x") == .refresh)
        #expect(GitHubToken.kind(of: "github_pat_x") == nil)
        #expect(GitHubToken.checksumHolds(in: "gho_short") == nil)
        #expect(GitHubToken.checksumHolds(in: "eyJ") == nil)
        // The samples in GitHub's documentation don't have one.
        #expect(GitHubToken.checksumHolds(in: "gho_16C7e42F292c6912E7710c838347Ae178B4a") == false)
    }

    @Test("what we mint has the form, or deliberately not")
    func minted() throws {
        let fixture = try GitHubFixture()
        let token = try fixture.token()
        #expect(token.wholeMatch(of: /gho_[0-9A-Za-z]{36}/) != nil)
        #expect(GitHubToken.checksumHolds(in: token) == true)
        let app = try fixture.exchange([
            "client_id": GitHubFixture.gitHubApp, "code": ordered(fixture, client: GitHubFixture.gitHubApp),
        ])
        #expect(app["access_token"]?.wholeMatch(of: /ghu_[0-9A-Za-z]{36}/) != nil)
        #expect(app["refresh_token"]?.wholeMatch(of: /ghr_[0-9A-Za-z]{76}/) != nil)
        #expect(GitHubToken.checksumHolds(in: app["access_token"] ?? "") == true)
        #expect(GitHubToken.checksumHolds(in: app["refresh_token"] ?? "") == true)
        let broken = try GitHubFixture(seed: #"{"github":{"tokenChecksum":"invalid"}}"#)
        let fake = try broken.token()
        #expect(GitHubToken.checksumHolds(in: fake) == false)
        #expect(try broken.get("/user", token: fake).status == 200)
    }

    private func ordered(_ fixture: GitHubFixture, client: String) throws -> String {
        try fixture.order(["outcome": "approve", "account": "ada", "client": client])
        return try fixture.code(["client_id": client])
    }
}
