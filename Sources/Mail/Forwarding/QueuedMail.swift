import EmulatorCore

/// A message of an inbox that waits to be handed on.
struct QueuedMail: Sendable {
    struct Key: Hashable, Sendable {
        /// `World.inboxNumber`.
        let inbox: Int
        let message: Int
    }

    let key: Key
    let row: InboxMessage
    /// Who still has to get it.
    var recipients: [String]
    /// Who will never get it, and why.
    var refusals: [String] = []
    let since: ContinuousClock.Instant
    var attempts = 0
    /// When it is tried next.
    var due: ContinuousClock.Instant
    /// Why it wasn't taken when it was tried last.
    var error: String?

    /// Bytes, about.
    var size: Int { row.message.size }
}

/// First in, first out.
struct FIFO<Element> {
    private var elements: [Element?] = []
    private var head = 0

    var count: Int { elements.count - head }
    var all: [Element] { elements[head...].compactMap { $0 } }
    var first: Element? { head < elements.count ? elements[head] : nil }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func popFirst() -> Element? {
        guard head < elements.count, let element = elements[head] else { return nil }
        elements[head] = nil
        head += 1
        // Moving the rest costs as much as taking out what has gone did.
        if head > 32, head * 2 > elements.count {
            elements.removeFirst(head)
            head = 0
        }
        return element
    }

    mutating func putBack(_ element: Element) {
        if head > 0 {
            head -= 1
            elements[head] = element
        } else {
            elements.insert(element, at: 0)
        }
    }

    /// Takes out all that `isWanted` says.
    mutating func remove(where isWanted: (Element) -> Bool) -> [Element] {
        let all = all
        let removed = all.filter(isWanted)
        if !removed.isEmpty {
            elements = all.filter { !isWanted($0) }
            head = 0
        }
        return removed
    }

    mutating func update(_ change: (inout Element) -> Void) {
        elements = all.map { element in
            var element = element
            change(&element)
            return element
        }
        head = 0
    }
}

/// Messages in the order in which they are due. Each waits after its attempts as long as its number of attempts says, so those of
/// one number stand in the order in which they are due.
struct RetryQueue {
    private let pauses: [Duration]
    private var levels: [FIFO<QueuedMail>]
    private(set) var count = 0

    /// How long a message waits after its first attempt, its second…; the last one for all further ones.
    init(pauses: [Duration]) {
        self.pauses = pauses
        levels = Array(repeating: FIFO(), count: pauses.count + 1)
    }

    /// Puts a message behind those that wait as long as it does.
    mutating func add(_ mail: QueuedMail, now: ContinuousClock.Instant) {
        let level = min(mail.attempts, pauses.count)
        var mail = mail
        mail.due = level == 0 ? now : now.advanced(by: pauses[level - 1])
        levels[level].append(mail)
        count += 1
    }

    /// Puts back what `next` gave, to be the next one again.
    mutating func putBack(_ mail: QueuedMail) {
        levels[min(mail.attempts, pauses.count)].putBack(mail)
        count += 1
    }

    /// When the next one is due.
    var nextDue: ContinuousClock.Instant? { levels.compactMap { $0.first?.due }.min() }

    /// Takes the next one that is due.
    mutating func next(now: ContinuousClock.Instant) -> QueuedMail? {
        guard let due = nextDue, due <= now, let level = levels.firstIndex(where: { $0.first?.due == due }) else {
            return nil
        }
        count -= 1
        return levels[level].popFirst()
    }

    mutating func remove(where isWanted: (QueuedMail) -> Bool) -> [QueuedMail] {
        var removed: [QueuedMail] = []
        for level in levels.indices { removed += levels[level].remove(where: isWanted) }
        count -= removed.count
        return removed
    }

    mutating func makeAllDue(_ now: ContinuousClock.Instant) {
        for level in levels.indices { levels[level].update { $0.due = min($0.due, now) } }
    }

    /// Since when the oldest one has waited. Looks at all of them.
    var oldest: ContinuousClock.Instant? { levels.flatMap { $0.all.map(\.since) }.min() }
}
