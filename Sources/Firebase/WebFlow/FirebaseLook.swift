import EmulatorCore
import OAuth

extension Look {
    /// A white card with square corners under an amber line, like widgets on an app's own site.
    static let firebase = Look(
        name: "Firebase",
        style: """
            :root{--ink:#202124;--soft:#5f6368;--paper:#eceff1;--card:#fff;--line:#dadce0;--act:#1967d2;--on-act:#fff;\
            --link:#1967d2;--radius:4px}\
            @media (prefers-color-scheme:dark){:root{--ink:#e8eaed;--soft:#9aa0a6;--paper:#17181a;--card:#202124;\
            --line:#5f6368;--act:#8ab4f8;--on-act:#10213d;--link:#8ab4f8}}\
            main{border:0;border-top:4px solid #ffa000;border-radius:2px;max-width:26rem;\
            box-shadow:0 1px 3px rgb(0 0 0/.25)}\
            ul.plain{list-style:none;margin:0;padding:0}
            """)
}
