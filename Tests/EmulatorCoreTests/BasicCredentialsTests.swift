import EmulatorCore
import Recordings
import Testing

@Suite("Basic credentials")
struct BasicCredentialsTests {
    @Test(
        "are read from the header in any case",
        arguments: [
            ("Basic dTpw", "u", "p"), ("basic dTpw", "u", "p"), ("BASIC  dTpw", "u", "p"),
            ("Basic dTpwOnE=", "u", "p:q"),
            ("Basic dQ==", "u", ""), ("Basic Og==", "", ""),
            // There are senders that fold long lines.
            ("Basic dTp wcQ==", "u", "pq"),
        ])
    func read(header: String, user: String, password: String) throws {
        let credentials = try #require(BasicCredentials.read(header: header))
        #expect(credentials.user == user && credentials.password == password)
    }

    @Test(
        "aren't read from anything else",
        arguments: [
            "", "Basic", "Bearer dTpw", "Basicx dTpw", "Basic !", "Basic\tdTpw", "Basic \u{301}dTpw",
            "Basic\u{301} dTpw",
            "Ba\u{17F}ic dTpw",
        ])
    func other(header: String) { #expect(BasicCredentials.read(header: header) == nil) }
}
