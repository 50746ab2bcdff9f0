import EmulatorCore

extension Look {
    /// The theme of GitHub's pages: grey with thin lines, a narrow column, a green button.
    static let github = Look(
        name: "GitHub",
        style: """
            :root{--ink:#1f2328;--soft:#59636e;--paper:#f6f8fa;--card:#fff;--line:#d1d9e0;--act:#1a7f37;--on-act:#fff;\
            --link:#0969da;--radius:6px}\
            @media (prefers-color-scheme:dark){:root{--ink:#f0f6fc;--soft:#9198a1;--paper:#0d1117;--card:#151b23;\
            --line:#3d444d;--act:#238636;--link:#4493f8}}\
            body{font:15px/1.5 -apple-system,"Segoe UI",system-ui,sans-serif}\
            .brand{font-size:1.125rem}\
            main{max-width:27rem;border-radius:6px;padding:1.25rem}\
            h1{font-weight:400;font-size:1.5rem;text-align:center}h1+.soft{text-align:center}\
            button,.button{padding:.4rem 1rem;font-weight:500}\
            .people{border:1px solid var(--line);border-radius:6px;overflow:hidden;margin-top:1rem}\
            .people button.person{margin:0;border:0;border-radius:0;padding:.6rem 1rem;outline-offset:-3px}\
            .people button.person+button.person{border-top:1px solid var(--line)}\
            button.quiet{background:var(--paper);color:var(--ink)}\
            a.button.quiet{border-color:transparent;font-weight:400}\
            fieldset{border-radius:6px}
            """)
}
