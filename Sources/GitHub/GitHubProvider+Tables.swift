import EmulatorCore
import OAuth

extension GitHubProvider {
    package static var rows: [any Row.Type] {
        GitHubGrant.rows + [
            TokenTimes.self, Session.self, RequestCount.self, Device.self, UserCodeEntries.self,
        ]
    }

    package static var values: [any WorldValue.Type] { [LastTokenID.self] }
}
