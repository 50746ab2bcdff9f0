import HTTPServer
import JOSE
import Logging

/// The limits of the whole process, for all worlds together, and what was dropped to keep to them.
package final class ProcessBudget: Sendable {
    package let recordings: RecordingStore
    package let streams = StreamBudget()
    package let mail = MailBudget()
    package let readMails = ReadMails()
    package let mailRoutes = MailRoutes()
    /// Event streams and requests that wait for exchanges.
    package let listeners = Allowance(limit: 1_000)
    /// Seeds that worlds got while the daemon runs.
    package let seeds = SeedBudget()
    /// Firebase projects that aren't in a seed, of all worlds.
    package let projects = Allowance(limit: 20_000)
    /// How many users the Firebase projects of one world may have together.
    package let usersOfWorld: Int
    package let notices: Notices

    /// `recordingLimit` in bytes. `keepingRefusals` keeps what worlds have refused that go. `recordings` keeps what other daemons
    /// record in the same worlds, too.
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
