import Synchronization

/// A cache of parsed mails from outside, because a client that watches an inbox reads the same mails again and again.
/// If all of them take too much memory, the least recently used are removed.
package final class ReadMails: Sendable {
    private struct Key: Hashable {
        /// The number of the inbox: `World.inboxNumber`.
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
        /// A count of all uses of mails.
        var uses = 0
    }

    private let limit: Int
    private let state = Mutex(State())

    /// `limit` is the approximate number of bytes.
    package init(limit: Int = 32 << 20) { self.limit = limit }

    /// The approximate number of bytes that are cached.
    package var bytes: Int { state.withLock { $0.size } }

    /// Returns the parsed mail from the cache, or parses it.
    func mail(_ raw: [UInt8], inbox: Int, message: Int) -> ReadMail {
        let key = Key(inbox: inbox, message: message)
        let known = state.withLock { state -> (raw: [UInt8], mail: ReadMail)? in
            state.uses += 1
            state.entries[key]?.lastUse = state.uses
            return state.entries[key].map { ($0.raw, $0.mail) }
        }
        // If another daemon has reset a shared world, another mail may have this number.
        if let known, known.raw == raw { return known.mail }
        let mail = ReadMail(raw, measuresAttachments: false)
        keep(mail, raw, key)
        return mail
    }

    private func keep(_ mail: ReadMail, _ raw: [UInt8], _ key: Key) {
        let size = mail.size(ofRaw: raw.count)
        guard size <= limit / 2 else { return }
        // The mails are freed outside the lock.
        _ = state.withLock { state in
            var removed =
                state.entries.updateValue(
                    Entry(raw: raw, mail: mail, size: size, lastUse: state.uses), forKey: key
                ).map { [$0] } ?? []
            state.size += size - (removed.first?.size ?? 0)
            guard state.size > limit else { return removed }
            // Remove half of them, so that sorting them is worth it.
            for (key, entry) in state.entries.sorted(by: { $0.value.lastUse < $1.value.lastUse })
            where state.size > limit / 2 {
                state.entries[key] = nil
                state.size -= entry.size
                removed.append(entry)
            }
            return removed
        }
    }

    /// Removes the mails of an inbox that is emptied.
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
    /// Returns a message of this world's inbox as a parsed mail. Unless it is cached, this takes time in proportion to
    /// the mail's length, so don't call it under the world's lock.
    func mail(_ row: InboxMessage) -> ReadMail {
        guard let received = row.message.received else { return ReadMail(row.raw, measuresAttachments: false) }
        return budget.readMails.mail(received.raw, inbox: inboxNumber, message: row.number)
    }

    /// Runs `find`, which reads mails of this world, one call after the other; those of other worlds run at the same
    /// time. It takes too long for a worker.
    package func searchInbox<Result: Sendable, Failure: Error>(
        _ find: @escaping @Sendable () throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        try await inboxQueue.run(find)
    }
}
