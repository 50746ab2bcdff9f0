import EmulatorCore
import OAuth

extension FacebookProvider {
    package static var rows: [any Row.Type] {
        FacebookGrant.rows + [RemovedToken.self]
    }
}
