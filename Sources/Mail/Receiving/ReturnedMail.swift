import EmulatorCore
import HTTPServer
import Platform

/// Reports of mail that couldn't be delivered, on their way back to the senders. The daemon that has taken the mail delivers them: those
/// on their way are lost when it ends.
final class ReturnedMail: Sendable {
    /// How many there may be on their way. Further ones arrive at once.
    fileprivate static let limit = 10_000
    /// How long a store that fails is asked again: how often, and after how long.
    private static let attempts = 12
    private static let pause = Duration.seconds(5)

    private let allowance = Allowance(limit: ReturnedMail.limit)
    private let dispatcher: Dispatcher

    init(_ dispatcher: Dispatcher) { self.dispatcher = dispatcher }

    /// A report, and to whom it goes.
    private struct Report: Sendable {
        let report: DeliveryReport
        let sender: String
        let request: String?

        func deliver(in world: World) {
            let content = ReceivedContent(report.message(to: sender, at: world.now, id: request ?? "mail"))
            world.deliver(SentMessage(received: content, from: "", to: [sender], relay: nil, request: request))
        }
    }

    /// One that waits.
    private struct Pending: Sendable {
        let report: Report
        let world: String
        let number: Int
        let budget: ProcessBudget
        let lease: Allowance.Lease
        /// Whether the world waits for it no longer.
        var isTaken = false
        var attempts = 0
    }

    /// Puts a report into the inbox, after a time that the machine's clock measures, unless the world is reset or gone by then. A
    /// message without a sender is a report itself, of which there is none:
    /// <https://www.rfc-editor.org/rfc/rfc5321#section-6.1>.
    func send(
        _ report: DeliveryReport, to sender: String, in world: World, after delay: Duration, request: String?
    ) {
        guard !sender.isEmpty else { return }
        let report = Report(report: report, sender: sender, request: request)
        guard delay > .zero, let lease = allowance.take() else { return report.deliver(in: world) }
        // Unlike those of other replicas, and of a world of this name that has gone.
        let number = Int.random(in: 1...Int.max)
        world.update { $0[PendingReports.self].add(number) }
        wait(
            delay,
            for: Pending(
                report: report, world: world.name, number: number, budget: world.budget, lease: lease))
    }

    private func wait(_ delay: Duration, for pending: Pending) {
        Timer.after(delay) { [weak self] in
            // The store may have to be waited for.
            WorkThreads.shared.run { [weak self] in self?.deliver(pending) }
        }
    }

    private func deliver(_ due: Pending) {
        var pending = due
        do throws(StoreFailure) {
            guard let world = try dispatcher.existingWorld(pending.world) else { return }
            if !pending.isTaken {
                let number = pending.number
                guard try StoreCall.checked({ world.update { $0[PendingReports.self].remove(number) } }) else { return }
                pending.isTaken = true
            }
            try StoreCall.checked { pending.report.deliver(in: world) }
        } catch {
            pending.attempts += 1
            let goesOn = pending.attempts < ReturnedMail.attempts
            let fate = goesOn ? "waits" : "is lost"
            pending.budget.notices.tell(
                .stores, "a report of mail that couldn't be delivered \(fate): \(error.diagnosis.line)")
            if goesOn { wait(ReturnedMail.pause, for: pending) }
        }
    }
}

/// The reports that a world waits for. When the world is reset, it waits for none.
private struct PendingReports: WorldValue {
    static let name = "mail.pendingReports"

    /// In the order in which they came. Those of a daemon that has ended never come.
    private var numbers: [Int] = []

    init(_ seed: Seed) {}

    mutating func add(_ number: Int) {
        numbers.append(number)
        if numbers.count > ReturnedMail.limit { numbers.removeFirst() }
    }

    /// `false` when the world doesn't wait for it.
    mutating func remove(_ number: Int) -> Bool {
        guard let place = numbers.firstIndex(of: number) else { return false }
        numbers.remove(at: place)
        return true
    }
}

extension MailService {
    /// The types of the values that it keeps in worlds.
    package static var values: [any WorldValue.Type] { [PendingReports.self] }
}
