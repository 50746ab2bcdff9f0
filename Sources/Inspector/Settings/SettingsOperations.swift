import EmulatorCore
import HTTPServer

extension Inspector {
    /// The pages of the clock, of the worlds with their seeds, and of how to lead clients here.
    var settingsEndpoints: [Endpoint] {
        [
            page("GET", "clock") { try clockPage($0) },
            form("clock") { try await setClock($0, $1) },
            page("GET", "worlds") { try await worldsPage($0) },
            form("worlds") { try await makeWorld($0, $1) },
            form("worlds/reset") { try await resetWorld($0, $1) },
            form("worlds/delete") { try await deleteWorld($0, $1) },
            page("GET", "worlds/seed") { try seedPage($0) },
            form("worlds/seed") { try await changeSeed($0, $1) },
            page("GET", "setup") { try await setUpPage($0) },
            page("GET", "setup/:guide") { try await guidePage($0) },
        ]
    }
}
