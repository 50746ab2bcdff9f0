import EmulatorCore
import Platform

/// Where a server keeps its worlds.
enum StoreChoice {
    case memory
    /// In memory, with everything that stores that last rely on tried at each change: for tests.
    case checked

    /// In a file of SQLite's at this path; without one, in a file of its own that goes with the server.
    case sqlite(String)

    /// In a database of PostgreSQL's, which other servers may use, too: its URL.
    case postgresql(String)

    static let variable = "UNDERSTUDY_STORE"

    /// `nil` for what is no store.
    init?(_ text: String) {
        switch text {
        case "memory": self = .memory
        case "checked": self = .checked
        case "sqlite:#temporary": self = .sqlite("")
        // A path that was forgotten, as by a variable that isn't set, isn't a file that goes with the daemon.
        case "sqlite:": return nil
        case _ where text.hasPrefix("sqlite:"): self = .sqlite(String(text.dropFirst("sqlite:".count)))
        case _ where text.hasPrefix("postgresql://") || text.hasPrefix("postgres://"): self = .postgresql(text)
        default: return nil
        }
    }

    /// Why it can't have worlds from an earlier time; `nil` where it may. Opened all the same, it would have a new world, as the seed
    /// says.
    var reasonForNoWorlds: String? {
        switch self {
        case .memory, .checked: "memory keeps nothing that could be saved once its daemon has ended"
        case .sqlite(""): "a temporary file ends with its daemon"
        case .sqlite(let path): access(path, F_OK) == 0 ? nil : "there is no file \(path)"
        case .postgresql(let url): url.hasSuffix("#temporary") ? "a temporary schema ends with its daemon" : nil
        }
    }

    /// What is asked for, or else what the environment says.
    static func chosen(_ text: String?) throws -> StoreChoice {
        let said = getenv(variable).map { String(cString: $0) } ?? ""
        let wanted = text ?? (said.isEmpty ? "memory" : said)
        guard let choice = StoreChoice(wanted) else {
            // It may be a URL with a mistake in it, and then has a password.
            let isPlain = !wanted.contains { "@/?=".contains($0) }
            let kind = isPlain ? wanted : String(wanted.prefix { $0 != ":" })
            throw StartError(
                description: "\"\(kind)\" is no store of worlds: give memory, sqlite:PATH or "
                    + "postgresql://USER:PASSWORD@HOST:PORT/DATABASE")
        }
        return choice
    }

    /// Opens it.
    func open(_ seed: Seed) throws -> (any Archive)? {
        switch self {
        case .memory: return nil
        case .checked: return MemoryArchive(isChecked: true)
        case .sqlite(let path):
            do throws(SQLiteStartFailure) {
                let archive = try SQLiteArchive(path)
                try archive.begin(with: seed)
                return archive
            } catch {
                throw StartError(description: error.description)
            }
        case .postgresql(let url):
            do throws(PostgreSQLStartFailure) {
                let archive = try PostgreSQLArchive(url)
                try archive.begin(with: seed)
                return archive
            } catch {
                throw StartError(description: "the store of worlds: \(error.description)")
            }
        }
    }
}

extension RunningServer {
    /// Why a store, as `Options.store` says it, has no worlds that could be saved; `nil` where it may have some, and for what is no
    /// store.
    package static func reasonAgainstSaving(from store: String) -> String? { StoreChoice(store)?.reasonForNoWorlds }
}
