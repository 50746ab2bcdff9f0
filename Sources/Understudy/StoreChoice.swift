import EmulatorCore
import Platform
import Recordings
import Worlds

/// The kind of store in which a server keeps its test worlds: memory, a file or a database.
enum StoreChoice {
    case memory
    /// Test worlds are kept in memory. For tests, each change is encoded and decoded as for a file or a database.
    case checked

    /// Test worlds are kept in an SQLite file at this path. If the path is empty, the file is temporary and is removed
    /// when the server stops.
    case sqlite(String)

    /// Test worlds are kept in a PostgreSQL database with this URL, which several servers may share.
    case postgresql(String)

    static let variable = "UNDERSTUDY_STORE"

    /// Reads the text that names a store of test worlds, such as `memory` or `sqlite:PATH`; `nil` if it names none.
    init?(_ text: String) {
        switch text {
        case "memory": self = .memory
        case "checked": self = .checked
        case "sqlite:#temporary": self = .sqlite("")
        // An empty path is probably a mistake, such as a variable that isn't set, so it doesn't mean a temporary file.
        case "sqlite:": return nil
        case _ where text.hasPrefix("sqlite:"): self = .sqlite(String(text.dropFirst("sqlite:".count)))
        case _ where text.hasPrefix("postgresql://") || text.hasPrefix("postgres://"): self = .postgresql(text)
        default: return nil
        }
    }

    /// The reason why this store can't contain test worlds from an earlier run, or `nil` if it can. Without this check,
    /// a command would open the store and find a new world that only has the seed's data.
    var reasonForNoWorlds: String? {
        switch self {
        case .memory, .checked: "test worlds in memory are deleted when their daemon stops"
        case .sqlite(""): "a temporary store file is deleted when its daemon stops"
        case .sqlite(let path): access(path, F_OK) == 0 ? nil : "there is no file \(path)"
        case .postgresql(let url):
            url.hasSuffix("#temporary") ? "a temporary database schema is deleted when its daemon stops" : nil
        }
    }

    /// Returns the store that `text` names, or else the one that the environment variable `UNDERSTUDY_STORE` names, or
    /// else memory.
    static func chosen(_ text: String?) throws -> StoreChoice {
        let said = getenv(variable).map { String(cString: $0) } ?? ""
        let wanted = text ?? (said.isEmpty ? "memory" : said)
        guard let choice = StoreChoice(wanted) else {
            // The text may be a URL with a mistake, which contains a password.
            let isPlain = !wanted.contains { "@/?=".contains($0) }
            let kind = isPlain ? wanted : String(wanted.prefix { $0 != ":" })
            throw StartError(
                description: "\"\(kind)\" isn't a store of test worlds: give memory, sqlite:PATH or "
                    + "postgresql://USER:PASSWORD@HOST:PORT/DATABASE")
        }
        return choice
    }

    /// Opens the store of test worlds. Returns `nil` for `memory`, which needs no store.
    func open(_ seed: Seed) throws -> (any Archive)? {
        switch self {
        case .memory: return nil
        case .checked: return MemoryArchive(isChecked: true)
        case .sqlite(let path):
            do throws(SQLiteStartFailure) {
                let archive = try SQLiteArchive(path)
                try archive.begin(withSeed: seed.digest)
                return archive
            } catch {
                throw StartError(description: error.description)
            }
        case .postgresql(let url):
            do throws(PostgreSQLStartFailure) {
                let archive = try PostgreSQLArchive(url, with: PostgreSQLRecordings.tables)
                try archive.begin(withSeed: seed.digest)
                return archive
            } catch {
                throw StartError(description: "the store of test worlds can't be opened: \(error.description)")
            }
        }
    }
}

extension RunningServer {
    /// Returns the reason why no test worlds can be read from `store`, which has the form of `Options.store`. Returns
    /// `nil` if there may be test worlds, or if `store` is invalid.
    package static func reasonAgainstSaving(from store: String) -> String? { StoreChoice(store)?.reasonForNoWorlds }
}
