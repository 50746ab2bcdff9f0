import Synchronization

/// Mails that came from outside, as they were read: who looks at an inbox looks at the same mails again and again. When all of them
/// take too much, those go that nobody has looked at for longest.
package final class ReadMails: Sendable {
    private struct Key: Hashable {
        /// `World.inboxNumber`.
        let inbox: Int
        let message: Int
    }

    private struct Entry {
        let raw: [UInt8]
        let mail: ReadMail
        let size: Int
        var lastUse: Int
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        var size = 0
        /// Counts up with every mail that is looked at.
        var uses = 0
    }

    private let limit: Int
    private let state = Mutex(State())

    /// `limit` is in bytes, about.
    package init(limit: Int = 32 << 20) { self.limit = limit }

    /// How many bytes are kept, about.
    package var bytes: Int { state.withLock { $0.size } }

    /// Returns the mail as it was read before, or reads it.
    func mail(_ raw: [UInt8], inbox: Int, message: Int) -> ReadMail {
        let key = Key(inbox: inbox, message: message)
        let known = state.withLock { state -> (raw: [UInt8], mail: ReadMail)? in
            state.uses += 1
            state.entries[key]?.lastUse = state.uses
            return state.entries[key].map { ($0.raw, $0.mail) }
        }
        // Another daemon that shares the world may have reset it, and the number be that of another mail.
        if let known, known.raw == raw { return known.mail }
        let mail = ReadMail(raw, measuresAttachments: false)
        keep(mail, raw, key)
        return mail
    }

    private func keep(_ mail: ReadMail, _ raw: [UInt8], _ key: Key) {
        let size = mail.size(ofRaw: raw.count)
        guard size <= limit / 2 else { return }
        // Freed outside the lock.
        _ = state.withLock { state in
            var removed =
                state.entries.updateValue(
                    Entry(raw: raw, mail: mail, size: size, lastUse: state.uses), forKey: key
                ).map { [$0] } ?? []
            state.size += size - (removed.first?.size ?? 0)
            guard state.size > limit else { return removed }
            // Down to half, so that sorting them is worth it.
            for (key, entry) in state.entries.sorted(by: { $0.value.lastUse < $1.value.lastUse })
            where state.size > limit / 2 {
                state.entries[key] = nil
                state.size -= entry.size
                removed.append(entry)
            }
            return removed
        }
    }

    /// Forgets the mails of an inbox that is emptied.
    func forget(_ inbox: Int) {
        _ = state.withLock { state in
            let removed = state.entries.filter { $0.key.inbox == inbox }
            for (key, entry) in removed {
                state.entries[key] = nil
                state.size -= entry.size
            }
            return removed
        }
    }
}

extension World {
    /// Reads a message of this world's inbox as a mail. It takes time in proportion to the mail's length, unless it was read before:
    /// not to be called under the world's lock.
    func mail(_ row: InboxMessage) -> ReadMail {
        guard let received = row.message.received else { return ReadMail(row.raw, measuresAttachments: false) }
        return budget.readMails.mail(received.raw, inbox: inboxNumber, message: row.number)
    }

    /// Runs what reads mails: one after the other of this world, beside those of other worlds. It isn't for a worker, for which it takes
    /// too long.
    package func searchInbox<Result: Sendable, Failure: Error>(
        _ find: @escaping @Sendable () throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        try await inboxQueue.run(find)
    }
}
