import Testing
import Understudy

@Suite("Seeds: the section github")
struct GitHubSeedTests {
    @Test(
        "faults that people will make, each with its place",
        arguments: [
            (#"{"github":{"redirectMismatch":"html"}}"#, #"expected one of "page", "redirect""#),
            (#"{"github":{"deviceErrorStatus":400}}"#, "found a number (400)"),
            (#"{"github":{"codeLifetime":"ten minutes"}}"#, "expected a duration such as"),
            (#"{"github":{"rateLimit":0}}"#, "expected a whole number from 1"),
            (#"{"github":{"oauthApps":[{}]}}"#, #"$.github.oauthApps[0]: the key "clientID" is missing"#),
            (#"{"github":{"oauthApps":[{"clientID":"a","callbackURL":"x"}]}}"#, #"did you mean "callbackURLs"?"#),
            (#"{"github":{"oauthApps":[{"clientID":"a","callbackURLs":["/x"]}]}}"#, "callbackURLs[0]: found a string"),
            (
                #"{"github":{"oauthApps":[{"clientID":"a","callbackURLs":["https://a/1","https://a/2","https://a/3","https://a/4","https://a/5","https://a/6"],"exactCallbackURLs":["https://b/1","https://b/2","https://b/3","https://b/4","https://b/5"]}]}}"#,
                "$.github.oauthApps[0].exactCallbackURLs[4]: an app has at most ten callback URLs"
            ),
            (
                #"{"github":{"oauthApps":[{"clientID":"a"}],"githubApps":[{"clientID":"a"}]}}"#,
                #"$.github.githubApps[0].clientID: client ID "a" is already taken at $.github.oauthApps[0].clientID"#
            ),
            (#"{"github":{"githubApps":[{"clientID":"a","permissions":{"emails":"yes"}}]}}"#, "permissions.emails"),
            (
                #"{"github":{"githubApps":[{"clientID":"a","installations":["nowhere"]}]}}"#,
                #"no person or organization "nowhere""#
            ),
            (#"{"github":{"orgs":[{"login":"o","owners":["nobody"]}]}}"#, #"no account "nobody" in accounts"#),
            (
                #"{"accounts":[{"id":"a"}],"github":{"orgs":[{"login":"o","teams":[{"slug":"t","members":["a"]}]}]}}"#,
                #"$.github.orgs[0].teams[0].members[0]: account "a" doesn't have "o" among its github.orgs"#
            ),
            (#"{"github":{"orgs":[{"login":"o","approvedApps":["x"]}]}}"#, #"no app "x" in github.oauthApps"#),
            (
                #"{"github":{"oauthApps":[{"clientID":"a","interaction":{"account":"nobody"}}]}}"#,
                #"no account "nobody" in accounts"#
            ),
            (#"{"accounts":[{"id":"a","github":{"emails":[{"email":"x"}]}}]}"#, "emails[0].email: found a string"),
            (#"{"accounts":[{"id":"a","github":{"createdAt":"2020"}}]}"#, "expected a time such as"),
        ])
    func faults(text: String, expected: String) {
        let faults = SeedInput.faults(in: [.json(text)])
        #expect(faults.contains { $0.contains(expected) }, "\(faults)")
    }

    @Test("a GitHub App will do as Firebase's GitHub provider")
    func firebase() {
        let seed =
            #"{"github":{"githubApps":[{"clientID":"a"}]},"firebase":{"projects":[{"id":"p","providers":{"github.com":{"clientID":"a"}}}]}}"#
        #expect(SeedInput.faults(in: [.json(seed)]) == [])
    }
}
