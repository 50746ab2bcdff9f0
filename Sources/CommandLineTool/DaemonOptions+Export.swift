import ArgumentParser
import EmulatorCore
import Understudy

// Data of `firebase emulators:export`, as `firebase emulators:start` takes and leaves it: --import, --export-on-exit.
// https://firebase.google.com/docs/emulator-suite/install_and_configure#export_and_import_emulator_data

extension DaemonOptions {
    private static let exportOption = "--export-on-exit"

    /// `--export-on-exit` may come without a value, which the parser of arguments doesn't know: it gets `true`, as in the
    /// environment.
    static func completed(_ arguments: [String]) -> [String] {
        let end = arguments.firstIndex(of: "--") ?? arguments.endIndex
        return arguments.enumerated().map { place, argument in
            guard argument == exportOption, place < end else { return argument }
            let isLast = place + 1 == end
            return isLast || arguments[place + 1].hasPrefix("-") ? "\(exportOption)=true" : argument
        }
    }

    /// Where the users are to be written at the end; `nil` when nowhere.
    func exportDirectory() throws -> String? {
        guard let wanted = exportOnExit ?? Environment.value("EXPORT_ON_EXIT"), wanted != "false" else { return nil }
        guard wanted == "true" else { return wanted }
        guard let directory = namedImport else {
            throw ValidationError("--export-on-exit needs a directory, its own or that of --import.")
        }
        return directory
    }

    private var namedImport: String? { importDirectory ?? Environment.value("IMPORT") }

    /// Worlds that outlive the daemon belong to what was imported when they began, which the end would change.
    func expectLastingImport() throws {
        let store = store ?? Environment.value("STORE") ?? "memory"
        guard let directory = namedImport, try exportDirectory() == directory,
            !["memory", "checked"].contains(store), !store.hasSuffix("#temporary")
        else { return }
        throw ValidationError(
            "--import and --export-on-exit: one folder for both goes with --store memory. This store keeps the users; the next start would be refused."
        )
    }

    /// What is to be imported. Where the end will write the directory, it may be missing or empty at the beginning.
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

    /// Writes the users, if that was asked for. `false` when they couldn't be written.
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
