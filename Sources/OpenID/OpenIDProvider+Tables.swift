import EmulatorCore
import OAuth

extension OpenIDProvider {
    package static var rows: [any Row.Type] {
        OpenIDGrant.rows + AuthorizationServerTables.rows + [TakenIssuer.self]
    }
}
