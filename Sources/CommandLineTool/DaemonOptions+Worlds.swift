import ArgumentParser
import EmulatorCore
import Understudy

/// A value of `--world`: `NAME=PORT` opens a port for a world, and `NAME` chooses the world of requests that name none.
struct WorldOption: Equatable {
    let name: String
    let port: UInt16?

    /// Reads a value. `option` is the option's name, for error messages.
    init(_ text: String, option: String = "--world") throws {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        name = parts[0]
        port = parts.count > 1 ? UInt16(parts[1]) : nil
        guard WorldName.isValid(name) else {
            throw ValidationError(
                "\(option): \"\(name)\" can't be a world: \(WorldName.rule); \"understudy world-name TEXT\" makes one of any text."
            )
        }
        guard parts.count == 1 || port != nil else {
            throw ValidationError("\(option) \(name): \"\(parts[1])\" isn't a port, 0 to 65535.")
        }
    }
}

extension DaemonOptions {
    private var worldOptions: [WorldOption] {
        get throws { try (worlds.isEmpty ? Environment.list("WORLD") : worlds).map { try WorldOption($0) } }
    }

    /// Refuses a `--world` without a port, for `serve`.
    func expectWorldPorts() throws {
        guard let option = try worldOptions.first(where: { $0.port == nil }) else { return }
        throw ValidationError(
            "--world \(option.name): give its port, too, as in --world \(option.name)=9101; 0 takes a free one.")
    }

    /// Returns the world for requests that name none, or `nil` if it isn't chosen.
    func ownWorld() throws -> String? { try worldOptions.first { $0.port == nil }?.name }

    /// Sets the worlds' ports, and the world for requests that name none.
    func chooseWorlds(_ options: inout RunningServer.Options) throws {
        let chosen = try worldOptions
        let own = chosen.filter { $0.port == nil }.map(\.name)
        guard own.count <= 1 else {
            throw ValidationError(
                "--world: the command can have one world, not \(own.joined(separator: ", ")); with =PORT, a world gets a port of its own."
            )
        }
        if let name = own.first { options.defaultWorld = name }
        options.worldPorts = chosen.compactMap { option in option.port.map { (world: option.name, port: $0) } }
        try DaemonOptions.expectOnePort(options.worldPorts.map(\.world), option: "--world")
        try chooseMailWorlds(&options)
    }

    /// Sets the SMTP ports of worlds.
    private func chooseMailWorlds(_ options: inout RunningServer.Options) throws {
        let name = "--smtp-world"
        let chosen = try (mailWorlds.isEmpty ? Environment.list("SMTP_WORLD") : mailWorlds).map {
            try WorldOption($0, option: name)
        }
        options.worldMailPorts = try chosen.map { option in
            guard let port = option.port else {
                throw ValidationError(
                    "\(name) \(option.name): give its port, too, as in \(name) \(option.name)=1026; 0 takes a free one."
                )
            }
            return (world: option.name, port: port)
        }
        guard chosen.isEmpty || options.smtpPort != nil else {
            throw ValidationError("\(name) goes with --smtp-port.")
        }
        try DaemonOptions.expectOnePort(chosen.map(\.name), option: name)
    }

    private static func expectOnePort(_ names: [String], option: String) throws {
        guard let twice = names.first(where: { name in names.count { $0 == name } > 1 }) else { return }
        throw ValidationError("\(option) \(twice): a world has one port of its own, and here it is given two.")
    }
}
