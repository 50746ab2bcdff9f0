import Platform

/// The machine on which the tests run.
package enum Machine {
    package static let isLinux: Bool = {
        #if os(Linux)
            true
        #else
            false
        #endif
    }()

    /// The device that is always full.
    package static let hasFullDevice = access("/dev/full", F_OK) == 0
}
