import EmulatorCore
import JSON
import Testing
import TestSupport
import Understudy

/// The names under which rows are stored. Whether all rows are declared and can be encoded is checked by running all
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

    /// A name here is in every user's file. If it changes, the rows under it are lost.
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
