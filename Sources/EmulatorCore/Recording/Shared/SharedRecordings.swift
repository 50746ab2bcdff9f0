/// The recordings of worlds that this daemon shares with others. What it answers is appended to them some time after the answer;
/// what is read are copies, brought up to date when somebody asks.
final class SharedRecordings: Sendable {
    let writer: RecordingWriter
    let mirrors: RecordingMirrors

    /// `limit` is what all recordings together may take, in bytes.
    init(_ keeper: any RecordingKeeper, limit: Int, notices: Notices) {
        writer = RecordingWriter(keeper, limit: limit, notices: notices)
        mirrors = RecordingMirrors(keeper, writer, notices: notices)
        writer.begin { [weak mirrors] in mirrors?.noteAppended($0) }
    }
}

extension RecordingStore {
    /// The recording of the world of this name.
    func recording(of world: String) -> Recording {
        guard let shared else { return Recording(in: self) }
        return shared.mirrors.recording(of: world) { Recording(in: self, of: world) }
    }

    /// Every recording that there is; those of worlds that this daemon hasn't made, too. `nil` where they aren't shared.
    package var sharedRecordings: [Recording]? { shared?.mirrors.all }

    // MARK: - Searching

    /// Runs something that takes too long for a worker on the store's queue.
    package func search<Result: Sendable>(_ find: @escaping @Sendable () -> Result) async -> Result {
        let call = StoreCall.current
        return await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: StoreCall.within(call, find)) }
        }
    }

    /// Runs a search of some recordings. It sees all that was answered before, at any replica.
    package func search<Result: Sendable>(
        in recordings: [Recording], _ find: @escaping @Sendable () -> Result
    ) async -> Result {
        await refresh(recordings)
        return await search(find)
    }

    /// Runs a search of the recordings of all worlds, and of those that are gone.
    package func searchAll<Result: Sendable>(_ find: @escaping @Sendable () -> Result) async -> Result {
        if shared != nil { await update(all) }
        return await search(find)
    }

    /// Copies what was answered before, at any replica.
    package func refresh(_ recordings: [Recording]) async {
        if shared != nil { await update(.worlds(recordings.map(\.world))) }
    }

    /// The same for all worlds; returns when it is done.
    package func refreshAll() { if shared != nil { ask(all) } }

    /// Finds out how many exchanges there are of each world; returns when it is done.
    package func refreshCounts() { if shared != nil { ask(.counts) } }

    /// Empties shared recordings of worlds that have a name that fits; returns when it is done.
    package func clearShared(forgetting: Bool, where isMeant: (String) -> Bool) {
        refreshCounts()
        clearShared(shared?.mirrors.names.filter(isMeant) ?? [], forgetting: forgetting)
    }

    func clearShared(_ worlds: [String], forgetting: Bool) {
        ask(.clear(worlds, keepingRefusals: keepsRefusals && !forgetting))
    }

    private var all: RecordingMirrors.Question { .all { [self] in Recording(in: self, of: $0) } }

    private func update(_ question: RecordingMirrors.Question) async {
        guard let shared else { return }
        let failure = await withCheckedContinuation { continuation in
            shared.mirrors.ask(question) { continuation.resume(returning: $0) }
        }
        if let failure { StoreCall.current?.note(failure) }
    }

    func ask(_ question: RecordingMirrors.Question) {
        if let failure = shared?.mirrors.wait(question) { StoreCall.current?.note(failure) }
    }

    /// Writes what isn't written yet; a second at most.
    func close() {
        shared?.mirrors.close()
        shared?.writer.close()
    }
}
