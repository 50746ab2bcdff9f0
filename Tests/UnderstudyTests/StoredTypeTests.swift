import EmulatorCore
import JSON
import Testing
import TestSupport
import Understudy

/// What stores find rows by. That all rows really are declared and can be written down, whoever makes them, is seen by running all
/// tests with the store `checked`.
@Suite("what worlds can hold")
struct StoredTypeTests {
    private let types = Providers.seedFormat.stored

    @Test("no two tables or values have the same name")
    func names() {
        #expect(types.ambiguous.isEmpty)
        #expect(types.rows.count > 40)
        #expect(types.values.count >= 8)
    }

    /// A name here is a name in everybody's files: one that is changed loses what is stored under it.
    @Test("tables keep their names")
    func lasting() {
        for name in [
            "people", "mail.message", "apple.grant", "apple.code", "apple.token", "github.grant", "github.session",
            "google.token", "facebook.removedToken", "openid.grant", "oauth.session", "oauth.consent", "firebase.user",
            "firebase.session", "firebase.tenant", "firebase.outOfBandCode",
        ] {
            #expect(types.rows[name] != nil, "\(name)")
        }
        for name in ["clock", "random", "faults", "outcomes", "scenarios", "mail.inbox", "github.lastTokenID"] {
            #expect(types.values[name] != nil, "\(name)")
        }
    }
}
