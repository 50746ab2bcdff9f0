import EmulatorCore
import OAuth

extension Look {
    /// The theme of Google's pages: a large rounded card on pale blue. On wide screens, the question is beside the
    /// choices.
    static let google = Look(
        name: "Google",
        style: """
            :root{--ink:#1f1f1f;--soft:#444746;--paper:#f0f4f9;--card:#fff;--line:#c4c7c5;--act:#0b57d0;--on-act:#fff;\
            --link:#0b57d0;--radius:999px}\
            @media (prefers-color-scheme:dark){:root{--ink:#e3e3e3;--soft:#c4c7c5;--paper:#1e1f20;--card:#0e0e0e;\
            --line:#444746;--act:#a8c7fa;--on-act:#062e6f;--link:#a8c7fa}}\
            body{font-family:Roboto,Arial,system-ui,sans-serif}\
            .brand{max-width:56rem;text-align:left;padding:0 2.25rem;font-weight:500;font-size:1.25rem;color:var(--soft)}\
            main{border:0;border-radius:28px;padding:2.25rem;max-width:56rem}\
            h1{font-size:2rem;font-weight:400;margin-bottom:1rem}\
            button.person{border:0;border-bottom:1px solid var(--line);border-radius:0;padding:.75rem .25rem;margin:0}\
            button.person::before{background:#7248b9;color:#fff;font-weight:400}\
            button.person strong{font-weight:500}\
            button.quiet{border-color:transparent;text-align:left;font-weight:500}\
            .actions{flex-direction:row-reverse;gap:.5rem;margin-top:2rem}.actions button{width:auto;padding:.6rem 1.5rem}\
            @media (min-width:52rem){main:has(.intro){display:grid;grid-template-columns:1fr 1fr;gap:2.5rem}\
            main:has(.intro)>form{align-self:end}}\
            @media (max-width:34rem){main{border-radius:0}.brand{padding:0 1rem}h1{font-size:1.75rem}}
            """)
}

extension PageWords {
    static let google = PageWords(choose: "Choose an account for Google sign-in") { words in
        words.destination = { "to continue to \($0)" }
        words.somebodyElse = "Use another account"
        words.newPerson = "Create a Google account"
        words.make = "Next"
        words.consent = { client, _ in "Sign in to \(client) with Google" }
        words.gets = { client, account in
            "When you continue, \(client) can see these things of \(account.fullName) (\(account.email)):"
        }
    }
}
