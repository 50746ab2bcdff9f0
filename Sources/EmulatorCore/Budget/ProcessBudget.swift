import HTTPServer
import JOSE
import Logging

/// The limits of the whole process, for all worlds together, and counts of what was dropped because of them.
package final class ProcessBudget: Sendable {
    package let recordings: RecordingStore
    package let streams = StreamBudget()
    package let mail = MailBudget()
    package let readMails = ReadMails()
    package let mailRoutes = MailRoutes()
    /// The event streams and the requests that wait for exchanges.
    package let listeners = Allowance(limit: 1_000)
    /// The seeds that worlds got while the daemon runs.
    package let seeds = SeedBudget()
    /// The Firebase projects of all worlds that aren't in a seed.
    package let projects = Allowance(limit: 20_000)
    /// The number of users that the Firebase projects of one world may have together.
    package let usersOfWorld: Int
    package let notices: Notices

    /// - Parameters:
    ///   - recordingLimit: The limit of all recordings in bytes.
    ///   - keepingRefusals: Whether refusals are kept after their world has gone.
    ///   - recordings: The store of recordings that daemons share.
    package init(
        recordingLimit: Int = RecordingStore.standardLimit, keepingRefusals: Bool = false, usersOfWorld: Int = 500_000,
        recordings keeper: (any RecordingKeeper)? = nil, logger: Logger? = nil
    ) {
        self.usersOfWorld = usersOfWorld
        notices = Notices(logger ?? Logger(label: "understudy") { _ in SwiftLogNoOpLogHandler() })
        recordings = RecordingStore(
            limit: recordingLimit, keepingRefusals: keepingRefusals, keeper: keeper, notices: notices)
    }
}
