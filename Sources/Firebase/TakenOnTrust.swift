import EmulatorCore

// The official emulator takes every API key as its project's and makes every project that a request names, so a test
// suite with a key of its own passes there: https://firebase.google.com/docs/emulator-suite/connect_auth. A misspelled
// ID passes, too. So we tell the user which names were taken on trust.

/// A key, project or tenant that isn't in the seed and was accepted all the same.
struct TakenOnTrust: Row {
    static let table = Table<TakenOnTrust>("firebase.takenOnTrust")
    /// The greatest number in one world.
    static let limit = 50

    /// A sentence that says what was accepted, and as what.
    let text: String

    var key: String { text }
}

extension FirebaseProvider {
    package func takenOnTrust(in world: World) -> [String] {
        world.read { $0.rows(TakenOnTrust.self, limit: TakenOnTrust.limit) }.map(\.text)
    }

    /// Returns the project with this API key, or the one to which an unknown key is taken to belong.
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

    /// Returns the project with this ID.
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
    /// Records the use of a tenant that nobody has created.
    func takeTenant(_ id: String, of project: Project) throws {
        try take("tenant \(Diagnosis.quote(id)) of \(Diagnosis.quote(project.id)), which nobody has created")
    }

    fileprivate func trusting(_ project: Project) throws -> Project {
        if !project.isSeeded {
            try take("project \(Diagnosis.quote(project.id)), which no seed has, with the Emulator Suite's defaults")
        }
        return project
    }

    /// Records what is taken on trust, and logs it the first time.
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
    /// Whether this text is new, and the table isn't full.
    fileprivate func takes(_ text: String) -> Bool {
        find(TakenOnTrust.self, text) == nil && count(TakenOnTrust.self) < TakenOnTrust.limit
    }
}
