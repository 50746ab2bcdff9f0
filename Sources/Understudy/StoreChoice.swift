import EmulatorCore
import Platform
import Recordings
import Worlds

/// The store in which a server keeps its worlds.
enum StoreChoice {
    case memory
    /// In memory, with checks at each change of everything that other stores rely on; for tests.
    case checked

    /// In an SQLite file at this path. If the path is empty, the file is temporary and ends with the server.
    case sqlite(String)

    /// In a PostgreSQL database with this URL, which several servers may share.
    case postgresql(String)

    static let variable = "UNDERSTUDY_STORE"

    /// Reads a store's name; `nil` if it isn't one.
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

    /// The reason why this store can't have worlds from an earlier run, or `nil` if it can. Without this check, the
    /// store would be opened, and a new world of the seed would be found in it.
    var reasonForNoWorlds: String? {
        switch self {
        case .memory, .checked: "memory keeps nothing that could be saved once its daemon has ended"
        case .sqlite(""): "a temporary file ends with its daemon"
        case .sqlite(let path): access(path, F_OK) == 0 ? nil : "there is no file \(path)"
        case .postgresql(let url): url.hasSuffix("#temporary") ? "a temporary schema ends with its daemon" : nil
        }
    }

    /// Returns the given store, or else the environment's.
    static func chosen(_ text: String?) throws -> StoreChoice {
        let said = getenv(variable).map { String(cString: $0) } ?? ""
        let wanted = text ?? (said.isEmpty ? "memory" : said)
        guard let choice = StoreChoice(wanted) else {
            // The text may be a URL with a mistake, which contains a password.
            let isPlain = !wanted.contains { "@/?=".contains($0) }
            let kind = isPlain ? wanted : String(wanted.prefix { $0 != ":" })
            throw StartError(
                description: "\"\(kind)\" is no store of worlds: give memory, sqlite:PATH or "
                    + "postgresql://USER:PASSWORD@HOST:PORT/DATABASE")
        }
        return choice
    }

    /// Opens the store.
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
                throw StartError(description: "the store of worlds: \(error.description)")
            }
        }
    }
}

extension RunningServer {
    /// Returns the reason why a store, named as in `Options.store`, has no worlds to save; `nil` if it may have some,
    /// or if the name isn't a store's.
    package static func reasonAgainstSaving(from store: String) -> String? { StoreChoice(store)?.reasonForNoWorlds }
}
