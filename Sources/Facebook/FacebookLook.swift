import EmulatorCore
import OAuth

extension Look {
    /// The theme of Facebook's pages: a blue bar with the name, a grey page, a narrow card with a shadow.
    static let facebook = Look(
        name: "Facebook",
        style: """
            :root{--ink:#080809;--soft:#54575c;--paper:#f0f2f5;--card:#fff;--line:#ced0d4;--act:#0866ff;--on-act:#fff;\
            --link:#0a57d6;--radius:6px}\
            @media (prefers-color-scheme:dark){:root{--ink:#e2e5e9;--soft:#b0b3b8;--paper:#1c1c1d;--card:#252728;\
            --line:#4a4d51;--link:#75b6ff}}\
            body{font-family:Helvetica,Arial,system-ui,sans-serif}\
            .brand{margin:0;padding:.625rem 1.25rem;background:#0866ff;color:#fff;text-align:left;font-weight:700;\
            font-size:1.375rem;letter-spacing:-.02em}\
            main{max-width:25rem;border:0;border-radius:8px;padding:1.25rem;\
            box-shadow:0 2px 4px rgb(0 0 0/.12),0 8px 16px rgb(0 0 0/.1)}\
            h1{font-size:1.25rem;text-align:center}.intro>.soft{text-align:center}\
            button.person::before{border-radius:6px}\
            button.quiet{background:color-mix(in srgb,var(--line) 55%,transparent);border-color:transparent;color:var(--ink)}\
            .people+button.quiet{background:transparent;color:var(--link)}.brand+main{margin-top:2rem}\
            @media (max-width:34rem){main{box-shadow:none}.brand+main{margin-top:0}}
            """)
}

extension PageWords {
    static let facebook = PageWords(choose: "Log in to Facebook") { words in
        words.destination = { "You are logging in to \($0)." }
        words.somebodyElse = "Log in to another account"
        words.newPerson = "Create a Facebook account"
        words.make = "Sign up"
        words.consent = { client, account in "Continue to \(client) as \(account.name.given)?" }
        words.gets = { client, account in "\(client) will receive, from the profile of \(account.fullName):" }
        words.approve = { "Continue as \($0.name.given)" }
    }
}
