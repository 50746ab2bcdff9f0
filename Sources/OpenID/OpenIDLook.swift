import EmulatorCore

extension Look {
    /// Returns the theme of a company's own sign-in: its name on a dark band, plain forms.
    static func issuer(_ name: String) -> Look {
        Look(
            name: name,
            style: """
                :root{--ink:#16262b;--soft:#4c5f66;--paper:#e9eff0;--card:#fff;--line:#c3d0d3;--act:#0b6b63;--on-act:#fff;\
                --link:#0b6b63;--radius:3px}\
                @media (prefers-color-scheme:dark){:root{--ink:#e4eef0;--soft:#a5b8bd;--paper:#0f1719;--card:#18242a;\
                --line:#37484d;--act:#5fd0c4;--on-act:#06201d;--link:#5fd0c4}}\
                .brand{max-width:28rem;margin:2rem auto 0;padding:.75rem 1.75rem;background:#12343b;color:#fff;\
                text-align:left;border-radius:3px 3px 0 0}\
                main{max-width:28rem;border-radius:0 0 3px 3px;border-top:4px solid var(--act)}\
                button.person::before{border-radius:3px}\
                @media (max-width:34rem){.brand{margin:0;border-radius:0;padding:.75rem 1rem;max-width:none}}
                """)
    }
}
