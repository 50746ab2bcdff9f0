import ArgumentParser
import EmulatorCore
import Understudy

// The options --import and --export-on-exit read and write the data of `firebase emulators:export`, as `firebase
// emulators:start` does:
// https://firebase.google.com/docs/emulator-suite/install_and_configure#export_and_import_emulator_data

extension DaemonOptions {
    private static let exportOption = "--export-on-exit"

    /// Adds the value `true` to an `--export-on-exit` without one. The argument parser doesn't support optional values.
    static func completed(_ arguments: [String]) -> [String] {
        let end = arguments.firstIndex(of: "--") ?? arguments.endIndex
        return arguments.enumerated().map { place, argument in
            guard argument == exportOption, place < end else { return argument }
            let isLast = place + 1 == end
            return isLast || arguments[place + 1].hasPrefix("-") ? "\(exportOption)=true" : argument
        }
    }

    /// Returns the directory to which users are exported at the end, or `nil`.
    func exportDirectory() throws -> String? {
        guard let wanted = exportOnExit ?? Environment.value("EXPORT_ON_EXIT"), wanted != "false" else { return nil }
        guard wanted == "true" else { return wanted }
        guard let directory = namedImport else {
            throw ValidationError("--export-on-exit needs a directory, its own or that of --import.")
        }
        return directory
    }

    private var namedImport: String? { importDirectory ?? Environment.value("IMPORT") }

    /// Refuses to export into the directory of `--import` if worlds are stored beyond the daemon's end: they belong to
    /// the data that was imported when they began.
    func expectLastingImport() throws {
        let store = store ?? Environment.value("STORE") ?? "memory"
        guard let directory = namedImport, try exportDirectory() == directory,
            !["memory", "checked"].contains(store), !store.hasSuffix("#temporary")
        else { return }
        throw ValidationError(
            "--import and --export-on-exit: one folder for both goes with --store memory. This store keeps the users; the next start would be refused."
        )
    }

    /// Returns the directory to import. If it is also the export's directory, it may be missing or empty.
    func importedDirectory() throws -> String? {
        guard let directory = namedImport else { return nil }
        guard try exportDirectory() == directory else { return directory }
        do throws(File.Failure) {
            guard try File.names(in: directory).isEmpty else { return directory }
        } catch {
            guard error.isMissing else { return directory }
        }
        LineWriter.standardError.write("understudy: \(directory) holds nothing yet: nothing is imported")
        return nil
    }

    /// Exports the users if that was asked for. Returns `false` if they couldn't be written.
    static func export(
        _ server: RunningServer, to directory: String?, _ output: LineWriter = .standardError
    ) -> Bool {
        guard let directory else { return true }
        do {
            try server.export(to: directory)
            return true
        } catch {
            output.write("understudy: \(error)")
            return false
        }
    }
}
