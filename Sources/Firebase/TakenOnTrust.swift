import EmulatorCore

// The official emulator takes every API key as its project's and makes every project that a request names, so a suite
// with a key of its own passes there: https://firebase.google.com/docs/emulator-suite/connect_auth. A misspelled ID passes,
// too. So it is said what was taken.

/// Something that no seed holds and that was taken all the same.
struct TakenOnTrust: Row {
    static let table = Table<TakenOnTrust>("firebase.takenOnTrust")
    /// Of one world.
    static let limit = 50

    /// What was taken, as what: a sentence.
    let text: String

    var key: String { text }
}

extension FirebaseProvider {
    package func takenOnTrust(in world: World) -> [String] {
        world.read { $0.rows(TakenOnTrust.self, limit: TakenOnTrust.limit) }.map(\.text)
    }

    /// The project with this API key, or the one whose key it is taken for.
    func project(apiKey key: String, in exchange: Exchange) throws -> Project {
        if let project = projects.project(apiKey: key) { return try exchange.trusting(project) }
        guard let project = projects.trustedProject(forKey: key, at: exchange.address) else {
            throw FirebaseError.badAPIKey(
                key, hint: projects.hint(forKey: key), host: exchange.address.host ?? FirebaseProvider.host)
        }
        try exchange.take(
            "API key \(Diagnosis.quote(key)), which no project has, as one of \(Diagnosis.quote(project.id))")
        return try exchange.trusting(project)
    }

    /// The project with this ID.
    func project(id: String, in exchange: Exchange) throws -> Project {
        guard let project = projects.project(id: id) ?? projects.trustedProject(id: id, at: exchange.address) else {
            throw FirebaseError(
                "CONFIGURATION_NOT_FOUND", status: 404,
                because: "no project \(Diagnosis.quote(id)) is seeded, and its ID doesn't begin with demo-")
        }
        return try exchange.trusting(project)
    }
}

extension Exchange {
    /// Notes a tenant that nobody has created.
    func takeTenant(_ id: String, of project: Project) throws {
        try take("tenant \(Diagnosis.quote(id)) of \(Diagnosis.quote(project.id)), which nobody has created")
    }

    fileprivate func trusting(_ project: Project) throws -> Project {
        if !project.isSeeded {
            try take("project \(Diagnosis.quote(project.id)), which no seed has, with the Emulator Suite's defaults")
        }
        return project
    }

    /// Notes what is taken, and says it in the log when it is new.
    fileprivate func take(_ text: String) throws {
        guard world.read({ $0.takes(text) }) else { return }
        let isNew = try world.update { tables in
            guard tables.takes(text) else { return false }
            tables.put(TakenOnTrust(text: text))
            return true
        }
        guard isNew else { return }
        world.budget.notices.tellOnce("Firebase: taken on trust: \(text)")
    }
}

extension TableReading where Self: ~Copyable {
    /// Whether it would be new, and there is room for it.
    fileprivate func takes(_ text: String) -> Bool {
        find(TakenOnTrust.self, text) == nil && count(TakenOnTrust.self) < TakenOnTrust.limit
    }
}
