import EmulatorCore
import Foundation
import TestSupport
import Testing

@testable import Apple

extension ForwardedMail {
    fileprivate subscript(name: String) -> String? { fields.first { $0.name == name }?.value }
}

@Suite("Apple: the rules of the private e-mail relay")
struct PrivateRelayTests {
    @Test("other addresses are nobody's business") func others() throws {
        let relayed = try RelayedWorld()
        try #expect(relayed.verdict(from: "a@example.com", to: "grace@example.org") == "not ours")
        try #expect(relayed.verdict(from: "a@example.com", to: "x@mail.privaterelay.appleid.com") == "not ours")
    }

    @Test("the envelope is judged before the mail is there")
    func envelope() throws {
        let relayed = try RelayedWorld()
        for sender in ["noreply@example.com", "NEWS@Partner.example", "anyone@EXAMPLE.com", ""] {
            try #expect(relayed.verdict(from: sender) == "accepted", "\(sender)")
            try #expect(relayed.verdict(from: sender, to: relayed.address.uppercased()) == "accepted")
        }
        for sender in ["other@partner.example", "a@mail.example.com", "a@com", "example.com", "a@xexample.com"] {
            let verdict = try relayed.verdict(from: sender)
            #expect(verdict.hasPrefix("550 5.1.1 <\(sender)>: unauthorized sender | "), "\(verdict)")
            #expect(verdict.contains("news@partner.example\", \"example.com"), "\(verdict)")
            #expect(verdict.contains("$.apple.teams[0].relay.senders"), "\(verdict)")
        }
        try #expect(relayed.verdict(from: "a@mail.example.com").contains("each subdomain is registered by itself"))
        try #expect(
            relayed.verdict(from: "a@example.com", to: "abcdefghij@privaterelay.appleid.com")
                .hasPrefix("550 5.1.1 <abcdefghij@privaterelay.appleid.com>: user not found | "))
    }

    @Test("an address belongs to one team")
    func teams() throws {
        let relayed = try RelayedWorld()
        try #expect(relayed.verdict(from: "a@other.example", to: relayed.otherAddress) == "accepted")
        let verdict = try relayed.verdict(from: "a@other.example")
        #expect(verdict.hasPrefix("550 5.1.1 <a@other.example>: unauthorized sender | "))
        #expect(verdict.contains("\"TEAMBBBBBB\"") && verdict.contains("\"TEAMAAAAAA\""))
        let nobodys = try relayed.verdict(
            from: "a@example.com", to: AppleIdentifiers.relayAddress(account: "grace", team: "TEAMCCCCCC"))
        #expect(nobodys.contains("has registered none") && nobodys.contains("$.apple.teams[2]"))
    }

    @Test("who the mail says that it is from must be registered, too")
    func authors() throws {
        let relayed = try RelayedWorld()
        for header in [
            "From: A <a@example.com>\n", "From: a@example.com, News <news@partner.example>\n", "FROM:a@example.com\n",
        ] {
            try #expect(relayed.verdict(from: "a@example.com", header: header) == "forwarded to Grace@example.org")
            try #expect(relayed.verdict(from: "", header: header) == "forwarded to Grace@example.org")
        }
        for (header, author) in [
            ("From: A <a@elsewhere.example>\n", "a@elsewhere.example"),
            ("From: a@example.com, b@elsewhere.example\n", "b@elsewhere.example"),
            ("From: a@example.com\nFrom: b@elsewhere.example\n", "b@elsewhere.example"),
            ("From: \"a@example.com\" <b@elsewhere.example>\n", "b@elsewhere.example"),
            ("From: example.com\n", "example.com"),
        ] {
            let verdict = try relayed.verdict(from: "a@example.com", header: header)
            #expect(
                verdict.hasPrefix(
                    "550 5.1.1 <\(author)>: unauthorized sender | received mail from the unregistered sender \"\(author)\", the author"
                ), "\(verdict)")
            try #expect(relayed.verdict(from: "", header: header).hasPrefix("550"))
        }
        for header in ["Subject: x\n", "From: \n", "From: (nobody)\n", "From: undisclosed:;\n"] {
            let verdict = try relayed.verdict(from: "a@example.com", header: header)
            #expect(verdict.hasPrefix("550 5.1.1 <a@example.com>: unauthorized sender"), "\(header): \(verdict)")
            #expect(verdict.contains("without an address in the header From"), "\(header): \(verdict)")
        }
    }

    @Test("mail reaches a person as long as one of the team's apps may write, and nobody else")
    func switches() throws {
        let relayed = try RelayedWorld()
        let header = "From: a@example.com\n"
        func set(_ app: String, forwards: Bool) throws {
            let key = try relayed.grant(app).key
            try relayed.world.update { _ = $0.change(AppleGrant.self, key) { $0.forwardsMail = forwards } }
        }
        try set("a.one", forwards: false)
        try #expect(relayed.verdict(from: "a@example.com", header: header) == "forwarded to Grace@example.org")
        try set("a.two", forwards: false)
        let off = try relayed.verdict(from: "a@example.com")
        #expect(off.hasPrefix("550 5.1.1 <\(relayed.address)>: user not found | "))
        #expect(off.contains("switched forwarding off"))
        try #expect(relayed.verdict(from: "a@elsewhere.example").contains("unauthorized sender"))
        try set("a.two", forwards: true)
        try #expect(relayed.verdict(from: "a@example.com", header: header) == "forwarded to Grace@example.org")

        for app in ["a.one", "a.two"] {
            let grant = try relayed.grant(app)
            _ = try relayed.world.update { $0.revoke(grant, because: "a test") }
        }
        let ended = try relayed.verdict(from: "a@example.com")
        #expect(ended.hasPrefix("550 5.1.1 <\(relayed.address)>: user not found | "))
        #expect(ended.contains("account \"grace\" hid behind it"))
        try #expect(relayed.verdict(from: "a@other.example", to: relayed.otherAddress) == "accepted")
        try relayed.consent(to: "a.one")
        try #expect(relayed.verdict(from: "a@example.com") == "accepted")
        try relayed.world.update { $0.remove(Account.self, "grace") }
        try #expect(relayed.verdict(from: "a@example.com").contains("user not found"))
    }

    // MARK: - How it is changed

    @Test("the sender gets an address of its own, and the rest stays")
    func rewriting() throws {
        let relayed = try RelayedWorld()
        let header = """
            From: "Example, \\"Inc\\"" <No.Reply+x@Example.com>
            To: \(relayed.address)
            Reply-To: support@example.com, =?utf-8?q?J=C3=B6?= <jo@help.example>
            Sender: robot@example.com

            """
        let mail = try relayed.forwarded(from: "bounce@example.com", header: header)
        let hidden = relayed.address.prefix(10)
        let pattern = try Regex(
            "^\"Example, \\\\\"Inc\\\\\"\" <no_reply_x_at_example_com_\(hidden)_[0-9a-f]{8}@privaterelay.appleid.com>$")
        #expect(mail["From"]?.wholeMatch(of: pattern) != nil, "\(mail["From"] ?? "")")
        #expect(mail["From"]?.contains("<\(mail.sender)>") == true)
        #expect(mail["Reply-To"]?.hasPrefix("support_at_example_com_\(hidden)_") == true)
        #expect(mail["Reply-To"]?.contains(", \"Jö\" <jo_at_help_example_\(hidden)_") == true)
        #expect(mail["Sender"]?.hasPrefix("robot_at_") == true)
        #expect(mail["To"] == nil)
        // A sender's address at the relay stays the same, and is another one for mail to another person.
        let again = try relayed.forwarded(from: "bounce@example.com", header: header)
        #expect(again == mail)
        let unanswerable = try relayed.forwarded(from: "", header: header)
        #expect(unanswerable.sender == "")
        let other = try relayed.forwarded(
            from: "a@other.example", to: relayed.otherAddress, header: "From: a@other.example\n")
        #expect(other.sender != RelayedSender("a@other.example", to: relayed.address).key)
    }

    @Test("addresses that look alike are told apart, and long ones fit")
    func addresses() {
        let address = "dpdcnf87nu@privaterelay.appleid.com"
        let keys = ["a.b@c.example", "a_b@c.example", "a@b.c.example", "A.B@c.example"].map {
            RelayedSender($0, to: address).key
        }
        #expect(Set(keys).count == 3 && keys[0] == keys[3])
        let long = RelayedSender(
            String(repeating: "ü", count: 100) + "@" + String(repeating: "x.", count: 100), to: address)
        #expect(long.key.prefix { $0 != "@" }.utf8.count == 64)
        #expect(long.key.utf8.allSatisfy { $0 < 0x80 })
    }

    @Test("a person's reply reaches the app, and doesn't tell who it is")
    func replies() throws {
        let relayed = try RelayedWorld()
        let there = try relayed.forwarded(from: "noreply@example.com", header: "From: App <NoReply@example.com>\n")
        let header = """
            Received: from [192.0.2.7] (envelope-from <grace@example.org>) by mail.example.org
            DKIM-Signature: v=1; d=example.org
            From: Grace Hopper <grace@EXAMPLE.org>
            Reply-To: grace@private.example
            To: App <\(there.sender.uppercased())>
            Cc: Grace <grace@example.org>, bob@example.net
            Subject: Re: Hello from grace@example.org
            In-Reply-To: <1@example.com>
            X-Mine: <grace@example.org>

            """
        try #expect(relayed.verdict(from: "grace@example.org", to: there.sender) == "accepted")
        let back = try relayed.forwarded(from: "GRACE@example.org", to: there.sender, header: header)
        #expect(back.recipient == "NoReply@example.com")
        #expect(back.sender == relayed.address)
        #expect(back["From"] == "\"Grace Hopper\" <\(relayed.address)>")
        #expect(back["To"] == "\"App\" <NoReply@example.com>")
        #expect(back["Cc"] == "\"Grace\" <\(relayed.address)>, bob@example.net")
        for name in ["Received", "DKIM-Signature", "Reply-To", "X-Mine"] { #expect(back[name] == "", "\(name)") }
        for name in ["Subject", "In-Reply-To"] { #expect(back[name] == nil, "\(name)") }
        let raw = HeaderRewriting.replace(
            Array("\(header.replacing("\n", with: "\r\n"))\r\nHi.\r\n".utf8), with: back.fields)
        let text = String(decoding: raw, as: UTF8.self).lowercased()
        #expect(text.components(separatedBy: "grace@example.org").count == 2, "\(text)")
        #expect(!text.contains("192.0.2.7"))
    }

    @Test("only the person can answer, and only while the address is there")
    func strangers() throws {
        let relayed = try RelayedWorld()
        let there = try relayed.forwarded(from: "noreply@example.com", header: "From: noreply@example.com\n")
        for sender in ["mallory@example.org", "noreply@example.com", relayed.address] {
            let verdict = try relayed.verdict(from: sender, to: there.sender)
            #expect(verdict.hasPrefix("550 5.1.1 <\(sender)>: unauthorized sender | "), "\(verdict)")
            #expect(verdict.contains("Grace@example.org"), "\(verdict)")
        }
        for header in ["From: mallory@example.org\n", "From: grace@example.org, b@example.org\n", "Subject: x\n"] {
            let verdict = try relayed.verdict(from: "grace@example.org", to: there.sender, header: header)
            #expect(verdict.contains("unauthorized sender"), "\(verdict)")
        }
        try #expect(relayed.verdict(from: "", to: there.sender) == "accepted")
        try #expect(
            relayed.verdict(from: "", to: there.sender, header: "From: MAILER-DAEMON@example.org\n").hasPrefix("lost"))
        let unknown = RelayedSender("stranger@example.com", to: relayed.address).key
        try #expect(relayed.verdict(from: "grace@example.org", to: unknown).contains("<\(unknown)>: user not found"))
        for app in ["a.one", "a.two"] {
            let grant = try relayed.grant(app)
            _ = try relayed.world.update { $0.revoke(grant, because: "a test") }
        }
        try #expect(relayed.verdict(from: "grace@example.org", to: there.sender).contains("user not found"))
    }

    @Test("what is remembered for replies is bounded")
    func bound() throws {
        let relayed = try RelayedWorld()
        let limit = RelayedSender.table.limit
        let first = RelayedSender("0@example.com", to: relayed.address)
        for number in 0...limit {
            _ = try relayed.forwarded(from: "", header: "From: \(number)@example.com\n")
            if number == 0 { #expect(relayed.world.read { $0.find(RelayedSender.self, first.key) } != nil) }
        }
        #expect(relayed.world.read { $0.count(RelayedSender.self) } == limit)
        #expect(relayed.world.read { $0.find(RelayedSender.self, first.key) } == nil)
    }
}
