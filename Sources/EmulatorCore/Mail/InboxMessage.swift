import Dispatch
import Time
import Worlds

/// An e-mail or text message in the inbox of a test world. The inbox has the latest messages that were sent in the test
/// world, or that a real provider would have sent.
package struct InboxMessage: Row {
    package static let table = Table<InboxMessage>("mail.message", limit: 2 * Inbox.countLimit, indexes: [byRecipient])
    package static let byRecipient = Index<InboxMessage, String>("recipient", each: { $0.recipients })

    /// The number of the message in its inbox. Numbers count up from 1. None is used twice until the test world is
    /// reset.
    package let number: Int
    /// The time when the message was sent, by the test world's clock.
    package let time: Instant
    package var message: SentMessage

    package init(number: Int, time: Instant, message: SentMessage) {
        self.number = number
        self.time = time
        self.message = message
    }

    /// The addresses to which the message was sent, or to which a relay forwarded it, in lower case.
    package var recipients: [String] {
        let forwarded = message.relay?.forwardedTo
        return (message.envelope.to + (forwarded.map { [$0] } ?? [])).map { $0.lowercased() }
    }

    package var key: String { InboxMessage.id(number) }
    /// The ID of the message in its inbox: `m1`, `m2`…
    package var id: String { key }

    package static func id(_ number: Int) -> String { "m\(number)" }

    /// Returns the number in a message's ID such as `m2`; `nil` for a text of another form.
    package static func number(of id: String) -> Int? {
        let digits = id.dropFirst()
        guard id.hasPrefix("m"), digits.count <= 15, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        return Int(digits)
    }
}

extension InboxMessage: BoundedRow {
    package static func excess(of rows: [InboxMessage]) -> String? {
        if rows.count > Inbox.countLimit { return "more than \(Inbox.countLimit) messages in the inbox" }
        guard rows.count > 1, rows.reduce(0, { $0 + $1.message.size }) > Inbox.sizeLimit else { return nil }
        return "more than \(Inbox.sizeLimit) bytes of messages in the inbox"
    }
}

/// Counters about a test world's inbox. They are stored separately from the messages.
package struct Inbox: WorldValue {
    package static let name = "mail.inbox"
    package static let countLimit = 1_000
    /// The approximate largest number of bytes of an inbox. The latest message is kept, however large it is. If the
    /// inboxes of all test worlds together are too large, an inbox that gets a message keeps fewer bytes
    /// (`MailBudget`).
    package static let sizeLimit = 8 << 20

    /// The number of the latest message in the inbox.
    package fileprivate(set) var last = 0
    /// The number of messages that the inbox has dropped to make room for new ones.
    package fileprivate(set) var dropped = 0
    /// The number of times that a user or test has deleted messages from the inbox.
    package fileprivate(set) var deletions = 0
    fileprivate var bytes = 0

    package init() {}
}

extension TableReading where Self: ~Copyable {
    package var inbox: Inbox { value(Inbox.self) }

    /// Returns at most `limit` messages that came after the message with this number, oldest first.
    package func messages(after number: Int = 0, limit: Int = .max) -> [InboxMessage] {
        let id = InboxMessage.id(number)
        if find(InboxMessage.self, id) != nil { return rows(InboxMessage.self, after: id, limit: limit) }
        // The message was removed, or never existed.
        let later = rows(InboxMessage.self, limit: .max).drop { $0.number <= number }
        return Array(later.prefix(limit))
    }

    /// Returns the messages in the inbox that were sent or forwarded to an e-mail address or a phone number, oldest
    /// first.
    package func messages(to recipient: String) -> [InboxMessage] {
        rows(InboxMessage.byRecipient, recipient.lowercased())
    }
}

extension Transaction {
    fileprivate mutating func deliver(_ message: SentMessage, limit: Int) -> (InboxMessage, bytes: Int) {
        let row = InboxMessage(number: self[Inbox.self].last + 1, time: now, message: message)
        self[Inbox.self].last = row.number
        self[Inbox.self].bytes += message.size
        put(row)
        while count(InboxMessage.self) > 1,
            count(InboxMessage.self) > Inbox.countLimit || self[Inbox.self].bytes > limit,
            let oldest = first(InboxMessage.self)
        {
            drop(oldest)
            self[Inbox.self].dropped += 1
        }
        return (row, self[Inbox.self].bytes)
    }

    private mutating func drop(_ row: InboxMessage) {
        remove(InboxMessage.self, row.key)
        self[Inbox.self].bytes -= row.message.size
    }

    /// Deletes the message with this ID, and returns the number of bytes of the messages that remain in the inbox;
    /// `nil` when there is no such message.
    fileprivate mutating func deleteMessage(_ id: String) -> Int? {
        guard let row = find(InboxMessage.self, id) else { return nil }
        drop(row)
        self[Inbox.self].deletions += 1
        return self[Inbox.self].bytes
    }

    mutating func countMessages() {
        self[Inbox.self].bytes = all(InboxMessage.self).reduce(0) { $0 + $1.message.size }
    }

    fileprivate mutating func deleteMessages() {
        while let row = first(InboxMessage.self) { remove(InboxMessage.self, row.key) }
        self[Inbox.self].bytes = 0
        self[Inbox.self].deletions += 1
    }
}

extension World {
    /// Adds a message to the inbox, and drops the oldest messages if there are too many.
    @discardableResult
    package func deliver(_ message: SentMessage) throws(StoreFailure) -> InboxMessage {
        let limit = state.inboxSize.limit
        let (row, bytes) = try update { $0.deliver(message, limit: limit) }
        state.inboxSize.set(bytes)
        markChanged()
        inboxListeners.notify()
        return row
    }

    /// Adds the size of this inbox, which was read from a store, to the total size of all inboxes.
    func countInbox() { state.inboxSize.set(read { $0.inbox.bytes }) }

    /// Returns whether a mail of `bytes` bytes can be accepted. A small mail always can. A larger mail can't if its
    /// size, added to the sizes of all other test worlds' inboxes, exceeds twice the limit for all inboxes together.
    /// The inboxes can exceed the limit because each keeps its latest mail, however large.
    package func hasRoom(forMail bytes: Int) -> Bool { state.inboxSize.hasRoom(for: bytes) }

    /// Deletes the message with this ID from the inbox. Returns `false` when there is no such message.
    package func deleteMessage(_ id: String) throws(StoreFailure) -> Bool {
        guard let bytes = try update({ $0.deleteMessage(id) }) else { return false }
        state.inboxSize.set(bytes)
        inboxListeners.notify()
        return true
    }

    package func deleteMessages() throws(StoreFailure) {
        try update { $0.deleteMessages() }
        state.inboxSize.set(0)
        budget.readMails.forget(inboxNumber)
        inboxListeners.notify()
    }

    /// A number that no other inbox of this process has. A reset of the test world gives its inbox a new number.
    package var inboxNumber: Int { state.inboxNumber.load(ordering: .relaxed) }

    /// Removes the inbox's mails from the cache of parsed mails. The inbox gets a new number as its key in the cache.
    func forgetMail() {
        let number = state.inboxNumber.exchange(WorldState.nextInboxNumber, ordering: .relaxed)
        budget.readMails.forget(number)
    }

    package var inboxListeners: Listeners { state.inboxListeners }

    /// The dispatch queue on which the listeners of the test world's inbox are called.
    package var inboxQueue: DispatchQueue { state.inboxQueue }
}
