import Foundation
import TestSupport
import Understudy

/// A certificate authority in a temporary folder.
final class Folder {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appending(path: "ca-\(UUID().uuidString)").path()
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The path of the certificate that clients should trust.
    var certificate: String { "\(path)/understudy-ca.pem" }

    /// Starts a daemon with TLS beside HTTP.
    func start(_ change: (inout RunningServer.Options) -> Void = { _ in }) throws -> TestServer {
        let authority = LocalAuthority(directory: path)
        if !authority.exists { try authority.make() }
        var options = RunningServer.Options()
        options.authority = authority
        options.tlsPort = 0
        change(&options)
        return try TestServer.start(options: options)
    }

    /// Runs curl, which trusts only this authority.
    func curl(_ arguments: String...) throws -> Shell.Result {
        try Shell.run("curl", ["--silent", "--show-error", "--cacert", certificate] + arguments)
    }
}
