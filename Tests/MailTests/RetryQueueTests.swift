import EmulatorCore
import Testing

@testable import Mail

@Suite struct RetryQueueTests {
    private let start = ContinuousClock.now

    private func mail(_ number: Int, attempts: Int = 0) -> QueuedMail {
        let message = SentMessage(.mail, from: Mailbox("a@b.test"), to: Mailbox("c@d.test"), text: nil, request: nil)
        var mail = QueuedMail(
            key: .init(inbox: number % 2, message: number),
            row: InboxMessage(number: number, time: .first, message: message), recipients: ["c@d.test"],
            since: start.advanced(by: .seconds(number)), due: start)
        mail.attempts = attempts
        return mail
    }

    @Test("messages come in the order in which they are due") func order() {
        var queue = RetryQueue(pauses: [.seconds(1), .seconds(10)])
        queue.add(mail(1, attempts: 2), now: start)
        queue.add(mail(2, attempts: 1), now: start)
        queue.add(mail(3), now: start)
        queue.add(mail(4, attempts: 9), now: start)
        #expect(queue.count == 4 && queue.oldest == start.advanced(by: .seconds(1)))
        func next(after seconds: Int) -> Int? { queue.next(now: start.advanced(by: .seconds(seconds)))?.key.message }
        let numbers = [0, 0, 1, 9, 10, 10].map { next(after: $0) }
        #expect(numbers == [3, nil, 2, nil, 1, 4])
        #expect(queue.count == 0 && queue.nextDue == nil && queue.oldest == nil)
    }

    @Test("what is put back is the next one") func puttingBack() {
        var queue = RetryQueue(pauses: [.seconds(1)])
        for number in 1...100 { queue.add(mail(number), now: start) }
        for _ in 1...40 { _ = queue.next(now: start) }
        let next = queue.next(now: start)
        if let next { queue.putBack(next) }
        let again = queue.next(now: start)
        #expect(next?.key.message == 41 && again?.key.message == 41 && queue.count == 59)
        let removed = queue.remove { $0.key.inbox == 0 }
        #expect(removed.count == 30 && queue.count == 29)
        let later = queue.next(now: start)
        #expect(later?.key.message == 43)
        var empty = RetryQueue(pauses: [.seconds(1)])
        empty.putBack(mail(1))
        let only = empty.next(now: start)
        #expect(only?.key.message == 1)
    }

    @Test("all can be made due") func allDue() {
        var queue = RetryQueue(pauses: [.seconds(1), .seconds(10)])
        for number in 1...6 { queue.add(mail(number, attempts: number % 3), now: start) }
        queue.makeAllDue(start)
        var numbers: Set<Int> = []
        while let next = queue.next(now: start) { numbers.insert(next.key.message) }
        #expect(numbers == Set(1...6))
    }
}
