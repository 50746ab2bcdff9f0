import Testing

@testable import EmulatorCore

@Suite("address fields of mails that others wrote")
struct AddressListTests {
    private static let ada = Mailbox("ada@example.com", name: "Ada Lovelace")
    private static let grace = Mailbox("grace@example.com")

    @Test(
        "mailboxes",
        arguments: [
            ("", []), (" , ;; ", []), ("ada@example.com", [Mailbox("ada@example.com")]),
            ("Ada Lovelace <ada@example.com>", [ada]), ("\"Ada Lovelace\" <ada@example.com>", [ada]),
            ("ada@example.com (Ada Lovelace)", [ada]),
            (
                "(work (main)) <ada@example.com> (Ada)",
                [
                    Mailbox("ada@example.com", name: "Ada")
                ]
            ),
            ("Ada Lovelace <ada@example.com>, grace@example.com", [ada, grace]),
            (
                "\"Lovelace, Ada\" <ada@example.com>,grace@example.com",
                [
                    Mailbox("ada@example.com", name: "Lovelace, Ada"), grace,
                ]
            ),
            (
                "Team: Ada Lovelace <ada@example.com>, grace@example.com;, b@example.com",
                [
                    ada, grace, Mailbox("b@example.com"),
                ]
            ),
            ("undisclosed-recipients:;", []),
            (
                "=?utf-8?q?Gr=C3=BC=C3=9Fe?= =?utf-8?b?IQ==?= <a@example.com>",
                [
                    Mailbox("a@example.com", name: "Grüße!")
                ]
            ),
            ("\"=?utf-8?q?a?=\" <a@example.com>", [Mailbox("a@example.com", name: "=?utf-8?q?a?=")]),
            ("Jörg <jörg@exämple.com>", [Mailbox("jörg@exämple.com", name: "Jörg")]),
            ("<@a.example,@b.example:ada@example.com>", [Mailbox("ada@example.com")]),
            ("ada @ example . com", [Mailbox("ada@example.com")]),
            ("\"a b\"@example.com", [Mailbox("a b@example.com")]),
            ("ada@[IPv6:::1], grace@example.com", [Mailbox("ada@[IPv6:::1]"), grace]),
            ("nobody in particular", [Mailbox("nobody in particular")]), ("<", [Mailbox("")]),
            ("Ada <ada@example.com", [Mailbox("ada@example.com", name: "Ada")]),
            ("\"open <ada@example.com>", [Mailbox("open <ada@example.com>")]),
        ] as [(String, [Mailbox])])
    func mailboxes(written: String, read: [Mailbox]) { #expect(AddressList.read(written) == read) }

    @Test(
        "what is written is read as it was",
        arguments: [
            ada, grace, Mailbox("a b@example.com", name: "x \"y\" \\ z, w"),
            Mailbox("a@example.com", name: "Grüße @ all"),
        ])
    func written(mailbox: Mailbox) { #expect(AddressList.read(mailbox.headerText) == [mailbox]) }

    @Test("a thousand mailboxes of a field, and 64 KB of it, are read")
    func bounds() {
        #expect(AddressList.read(String(repeating: "a@b.c,", count: 5_000)).count == 1_000)
        #expect(AddressList.read(String(repeating: "(", count: 1 << 20)).isEmpty)
        #expect(AddressList.read(String(repeating: "a", count: 1 << 20)).first?.address.utf8.count == 64 << 10)
    }
}
