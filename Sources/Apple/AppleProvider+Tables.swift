import EmulatorCore
import OAuth

extension AppleProvider {
    package static var rows: [any Row.Type] {
        AppleGrant.rows + [EndedGrant.self, MigrationToken.self, RelayedSender.self]
    }
}
