import Foundation
import Testing

@testable import GitHub

@Suite("GitHub: sets of scopes")
struct ScopeTests {
    @Test("are written down by name, and read back")
    func writing() throws {
        for (text, names) in [
            ("", "[]"), ("user:email,repo", #"["repo","user:email"]"#), ("read:user user", #"["user"]"#),
        ] {
            let scopes = GitHubScopes(text)
            let written = try JSONEncoder().encode(scopes)
            #expect(String(decoding: written, as: UTF8.self) == names)
            #expect(try JSONDecoder().decode(GitHubScopes.self, from: written) == scopes)
        }
    }
}
