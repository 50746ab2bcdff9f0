import EmulatorCore
import OAuth

extension GoogleProvider {
    package static var rows: [any Row.Type] {
        GoogleGrant.rows + [DeviceAuthorization.self]
    }
}
