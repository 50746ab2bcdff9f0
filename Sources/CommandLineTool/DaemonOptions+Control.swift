import ArgumentParser
import EmulatorCore

extension DaemonOptions {
    /// Returns the further host names of the control API.
    func chosenControlHosts() throws -> [String] {
        let name = controlHosts.isEmpty ? "UNDERSTUDY_CONTROL_HOST" : "--control-host"
        let hosts = controlHosts.isEmpty ? Environment.list("CONTROL_HOST") : controlHosts
        for host in hosts where !HostName.isValid(host, isLocal: true) {
            throw ValidationError(
                "\(name): \"\(host)\" can't be a host name: expected one such as \"idp.example\", without scheme, port and path."
            )
        }
        return hosts
    }

    /// Returns the token that the control API expects, or `nil` if it has none. Error messages never contain the token.
    func chosenControlToken() throws -> String? {
        guard controlToken == nil || controlTokenFile == nil else {
            throw ValidationError("--control-token and --control-token-file: give one of them.")
        }
        if let controlToken { return try DaemonOptions.checked(controlToken, from: "--control-token") }
        if let controlTokenFile { return try DaemonOptions.read(controlTokenFile, from: "--control-token-file") }
        return try DaemonOptions.knownControlToken()
    }

    /// Returns the token from the environment, for starting a daemon and for commands that call one.
    static func knownControlToken() throws -> String? {
        if let token = Environment.value("CONTROL_TOKEN") {
            return try DaemonOptions.checked(token, from: "UNDERSTUDY_CONTROL_TOKEN")
        }
        guard let path = Environment.value("CONTROL_TOKEN_FILE") else { return nil }
        return try DaemonOptions.read(path, from: "UNDERSTUDY_CONTROL_TOKEN_FILE")
    }

    /// Reads a token from a file, as containers get secrets. A line break at its end is ignored.
    private static func read(_ path: String, from name: String) throws -> String {
        let text: String
        do throws(File.Failure) { text = try File.text(at: path, limit: 4_096) } catch {
            throw ValidationError("\(name): \(error).")
        }
        let end = text.lastIndex { !$0.isNewline }.map { text.index(after: $0) } ?? text.startIndex
        return try checked(String(text[..<end]), from: name)
    }

    private static func checked(_ token: String, from name: String) throws -> String {
        guard ControlToken(token) != nil else {
            throw ValidationError("\(name): expected a token of \(ControlToken.rule).")
        }
        return token
    }
}
