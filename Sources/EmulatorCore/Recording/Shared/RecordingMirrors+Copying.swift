import Dispatch
import Synchronization

extension RecordingMirrors {
    /// Returns when it is done.
    func wait(_ question: Question) -> StoreFailure? {
        let answered = DispatchSemaphore(value: 0)
        let failure = Mutex<StoreFailure?>(nil)
        ask(question) { found in
            failure.withLock { $0 = found }
            answered.signal()
        }
        answered.wait()
        return failure.withLock { $0 }
    }
}

extension RecordedExchange {
    /// `nil` for what a later version has written in another format.
    convenience init?(_ kept: KeptExchange) {
        self.init(decoding: kept.bytes)
        order = kept.number
    }
}

extension Recording {
    /// Takes over what replicas have recorded, and lets go what isn't kept any more. `summary` is `nil` when nothing is.
    ///
    /// They append some time after the answer, each when it gets to it. Before it is looked, all that was answered is appended: so
    /// what is new is later than what was there, and goes in the order of the answers.
    func copy(_ kept: [KeptExchange], _ summary: RecordingSummary?) {
        let exchanges = kept.compactMap { RecordedExchange($0) }.sorted { $0.answered < $1.answered }
        copy(exchanges, upTo: kept.last?.number, summary)
    }
}
