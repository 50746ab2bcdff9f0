import EmulatorCore
import HTTPServer

extension Inspector {
    /// The clock, the worlds with their seeds, and how clients are led here.
    var settingsOperations: [Operation] {
        [
            page("GET", "clock") { clockPage($0) },
            form("clock") { await setClock($0, $1) },
            page("GET", "worlds") { await worldsPage($0) },
            form("worlds") { await makeWorld($0, $1) },
            form("worlds/reset") { await resetWorld($0, $1) },
            form("worlds/delete") { await deleteWorld($0, $1) },
            page("GET", "worlds/seed") { seedPage($0) },
            form("worlds/seed") { await changeSeed($0, $1) },
            page("GET", "setup") { await setUpPage($0) },
            page("GET", "setup/:guide") { await guidePage($0) },
        ]
    }
}
