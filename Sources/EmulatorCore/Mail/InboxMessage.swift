import Dispatch
import Time
import Worlds

/// A message in a world's inbox. This one table has all messages that were sent in the world, or would have been.
package struct InboxMessage: Row {
    package static let table = Table<InboxMessage>("mail.message", limit: 2 * Inbox.countLimit, indexes: [byRecipient])
    package static let byRecipient = Index<InboxMessage, String>("recipient", each: { $0.recipients })

    /// The number of the message. It counts up from 1, and no number is used twice.
    package let number: Int
    /// The time when the message was sent, by the world's clock.
    package let time: Instant
    package var message: SentMessage

    package init(number: Int, time: Instant, message: SentMessage) {
        self.number = number
        self.time = time
        self.message = message
    }

    /// The addresses to which the message was sent, or a relay forwarded it, in lower case.
    package var recipients: [String] {
        let forwarded = message.relay?.forwardedTo
        return (message.envelope.to + (forwarded.map { [$0] } ?? [])).map { $0.lowercased() }
    }

    package var key: String { InboxMessage.id(number) }
    /// The message's ID: `m1`, `m2`…
    package var id: String { key }

    package static func id(_ number: Int) -> String { "m\(number)" }

    /// Returns the number in an ID; `nil` for another text.
    package static func number(of id: String) -> Int? {
        let digits = id.dropFirst()
        guard id.hasPrefix("m"), digits.count <= 15, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        return Int(digits)
    }
}

/// Numbers about a world's inbox, beside the messages.
package struct Inbox: WorldValue {
    package static let name = "mail.inbox"
    package static let countLimit = 1_000
    /// The approximate number of bytes that an inbox may have. The latest message is kept, however large it is. If the
    /// inboxes of all worlds are too large together, one that gets a message keeps less (`MailBudget`).
    package static let sizeLimit = 8 << 20

    /// The number of the last message.
    package fileprivate(set) var last = 0
    /// The number of messages that were dropped for new ones.
    package fileprivate(set) var dropped = 0
    /// The number of times that messages were deleted.
    package fileprivate(set) var deletions = 0
    fileprivate var bytes = 0

    package init() {}
}

extension TableReading where Self: ~Copyable {
    package var inbox: Inbox { value(Inbox.self) }

    /// Returns at most `limit` messages after the one with this number, oldest first.
    package func messages(after number: Int = 0, limit: Int = .max) -> [InboxMessage] {
        let id = InboxMessage.id(number)
        if find(InboxMessage.self, id) != nil { return rows(InboxMessage.self, after: id, limit: limit) }
        // The message was removed, or never existed.
        let later = rows(InboxMessage.self, limit: .max).drop { $0.number <= number }
        return Array(later.prefix(limit))
    }

    /// Returns the messages that were sent or forwarded to an address or a phone number, oldest first.
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

    /// Deletes a message, and returns the number of bytes that are left; `nil` when there is no such message.
    fileprivate mutating func deleteMessage(_ id: String) -> Int? {
        guard let row = find(InboxMessage.self, id) else { return nil }
        drop(row)
        self[Inbox.self].deletions += 1
        return self[Inbox.self].bytes
    }

    /// Sums up the bytes of the messages.
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
    /// Adds a message to the inbox, and drops the oldest if there are too many.
    @discardableResult
    package func deliver(_ message: SentMessage) throws(StoreFailure) -> InboxMessage {
        let limit = state.inboxSize.limit
        let (row, bytes) = try update { $0.deliver(message, limit: limit) }
        state.inboxSize.set(bytes)
        noteChange()
        inboxListeners.tell()
        return row
    }

    /// Counts the bytes of an inbox that a store has kept.
    func countInbox() { state.inboxSize.set(read { $0.inbox.bytes }) }

    /// Returns whether a mail of so many bytes can be accepted: not when the inboxes of all worlds have twice the bytes
    /// that they should. That is possible, since each keeps its latest mail, however large.
    package func hasRoom(forMail bytes: Int) -> Bool { state.inboxSize.hasRoom(for: bytes) }

    /// Deletes a message. Returns `false` when there is no such message.
    package func deleteMessage(_ id: String) throws(StoreFailure) -> Bool {
        guard let bytes = try update({ $0.deleteMessage(id) }) else { return false }
        state.inboxSize.set(bytes)
        inboxListeners.tell()
        return true
    }

    /// Empties the inbox.
    package func deleteMessages() throws(StoreFailure) {
        try update { $0.deleteMessages() }
        state.inboxSize.set(0)
        budget.readMails.forget(inboxNumber)
        inboxListeners.tell()
    }

    /// A number that no other inbox of this process has; the world gets a new one when it is reset.
    package var inboxNumber: Int { state.inboxNumber.load(ordering: .relaxed) }

    /// Gives the inbox a new number, and removes its parsed mails.
    func forgetMail() {
        let number = state.inboxNumber.exchange(WorldState.nextInboxNumber, ordering: .relaxed)
        budget.readMails.forget(number)
    }

    package var inboxListeners: Listeners { state.inboxListeners }

    /// The queue on which the inbox's listeners are called.
    package var inboxQueue: DispatchQueue { state.inboxQueue }
}
