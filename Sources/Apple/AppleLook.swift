import EmulatorCore

extension Look {
    /// The theme of Apple's pages: white or black, centred, with a black button.
    static let apple = Look(
        name: "Apple",
        style: """
            :root{--ink:#1d1d1f;--soft:#6e6e73;--paper:#fff;--card:#fff;--line:#d2d2d7;--act:#1d1d1f;--on-act:#fff;\
            --link:#0066cc;--radius:12px}\
            @media (prefers-color-scheme:dark){:root{--ink:#f5f5f7;--soft:#a1a1a6;--paper:#000;--card:#000;--line:#424245;\
            --act:#f5f5f7;--on-act:#1d1d1f;--link:#4da3ff}}\
            body{font-family:-apple-system,system-ui,sans-serif}\
            main{max-width:27rem;border:0;text-align:center}\
            .brand{color:var(--soft);font-weight:500;margin-bottom:0}.brand+main{padding-top:.75rem}\
            h1{font-size:1.75rem;font-weight:600;letter-spacing:-.01em}\
            form{margin-top:1.75rem}\
            .people{border:1px solid var(--line);border-radius:var(--radius);overflow:hidden;margin-top:1rem}\
            .people button.person{margin:0;border:0;border-radius:0;outline-offset:-3px}\
            .people button.person+button.person{border-top:1px solid var(--line)}\
            button.person::after{content:"\\203A";margin-left:auto;color:var(--soft);font-size:1.5rem;line-height:1}\
            button.quiet,.button.quiet{border-color:transparent;font-weight:400}\
            fieldset,label{text-align:left}fieldset{border-radius:var(--radius)}
            """)
}
