import EmulatorCore
import HTTPServer
import JOSE
import JSON
import Time
import Worlds

// The Authentication part of what `firebase emulators:export` writes and `emulators:start --import` reads: a folder of
// JSON files. https://firebase.google.com/docs/emulator-suite/install_and_configure#export_and_import_emulator_data
//
// Quirks: it has the users of one project, and doesn't name the project. A tenant is known only by the file of its
// users: its settings aren't exported, and the import makes it with everything enabled.

/// The users and settings of a Firebase project, read from an export of the Firebase emulator.
struct AccountExport: ExportedData {
    /// The ID of the project into which the export is read: the default project.
    let project: String
    /// The exported users of the project and of its tenants.
    let users: [User]
    let tenants: [String]
    let settings: ProjectSettings
    let digest: String
    let warnings: [String]

    /// The name of an export's metadata file, which says in which folder the data of each emulator is.
    static let metadataName = "firebase-export-metadata.json"
    /// The name of the folder into which the Firebase emulator exports users.
    static let folder = "auth_export"
    static let configName = "config.json"

    /// Returns the name of the exported file with a tenant's users, or with the project's own users if `tenant` is
    /// `nil`.
    static func accountsName(tenant: String?) -> String { tenant.map { "accounts-\($0).json" } ?? "accounts.json" }

    /// Whether an export of users writes a file with this name.
    static func isPart(_ name: String) -> Bool { name == configName || isAccounts(name) }

    private static func isAccounts(_ name: String) -> Bool {
        name == accountsName(tenant: nil) || name.hasPrefix("accounts-") && name.hasSuffix(".json")
    }

    /// Reads users that the Firebase emulator has exported. `directory` is the folder with the whole export, or the
    /// folder inside it that contains the users.
    ///
    /// - Throws: All errors in the files, each with its file and path.
    init(at directory: String, for seed: Seed) throws(Issues) {
        let section = seed[FirebaseSection.self]
        guard let project = section.defaultProjectID else {
            throw Issues(file: directory, "no project to import to: name one with --project")
        }
        let folder = try AccountExport.folder(of: directory)
        let names: [String]
        do { names = try File.names(in: folder) } catch {
            throw Issues(file: folder, "the folder can't be read: \(error.reason)")
        }
        let files = names.filter { AccountExport.isAccounts($0) }
        guard !files.isEmpty else { throw Issues(file: folder, "no accounts.json in this folder") }
        var reader = AccountFiles(
            project: project, now: seed.clock.set ?? MachineClock.now, random: Randomness(seed: seed.randomSeed))
        if names.contains(AccountExport.configName) { reader.readConfig("\(folder)/\(AccountExport.configName)") }
        let isOnePerEmail = section.projects.first { $0.id == project }?.oneAccountPerEmail ?? true
        let isUnique = reader.settings.oneAccountPerEmail ?? isOnePerEmail
        for name in files {
            let isOfProject = name == AccountExport.accountsName(tenant: nil)
            let tenant = isOfProject ? nil : String(name.dropLast(".json".count).dropFirst("accounts-".count))
            reader.readAccounts("\(folder)/\(name)", tenant: tenant, oneAccountPerEmail: isUnique)
        }
        guard reader.issues.isEmpty else { throw Issues(reader.issues) }
        self.project = project
        digest = try AccountExport.digest(of: folder, project: project)
        users = reader.users
        tenants = reader.tenants
        settings = reader.settings
        let seeded = section.projects.first { $0.id == project } ?? Project(unseeded: project)
        let haveFactors = users.contains { $0.pool.tenant == nil && !$0.factors.isEmpty }
        warnings =
            haveFactors && !reader.settings.apply(to: seeded).mfa.isOn
            ? [
                "the imported users' second factors have no effect, since they are off in the Firebase project "
                    + "\(project): set the project's \"mfa\" in the seed"
            ] : []
    }

    /// Returns a digest of the exported files' names and contents, and of the project into which they are read.
    private static func digest(of folder: String, project: String) throws(Issues) -> String {
        do throws(File.Failure) {
            var text = project
            for name in try File.names(in: folder) where isPart(name) {
                text += " \(name):\(Hex.encode(Digest.sha256(try File.read("\(folder)/\(name)"))))"
            }
            return text
        } catch {
            throw Issues(file: error.path, "the file can't be read: \(error.reason)")
        }
    }

    /// Writes the exported users and settings into a test world. They replace the seed's settings, and seeded users
    /// with the same IDs.
    func put(_ tables: inout Transaction) {
        for id in tenants where tables.find(Tenant.self, UserPool(project: project, tenant: id)) == nil {
            tables.put(Tenant(unconfigured: id, of: project))
        }
        for user in users { tables.put(user) }
        tables.put(settings)
    }

    /// Returns the folder with the exported users inside an export's directory.
    private static func folder(of directory: String) throws(Issues) -> String {
        let metadata = "\(directory)/\(metadataName)"
        guard File.exists(metadata) else {
            let inside = "\(directory)/\(folder)"
            return File.exists(inside) ? inside : directory
        }
        let json = try AccountFiles.json(at: metadata)
        guard let auth = json["auth"] else {
            throw Issues(file: metadata, "no accounts were exported: \"auth\" is missing")
        }
        guard let path = auth["path"]?.string, !path.isEmpty else {
            throw Issues([Issue(auth, "\"path\" is missing, the folder with the accounts")])
        }
        return path.hasPrefix("/") ? path : "\(directory)/\(path)"
    }
}

/// Reads the files of an export, and collects their errors.
private struct AccountFiles {
    let project: String
    /// The creation time for exported users without `createdAt`.
    let now: Instant
    var random: Randomness
    var users: [User] = []
    var tenants: [String] = []
    var settings: ProjectSettings
    var issues: [Issue] = []

    init(project: String, now: Instant, random: Randomness) {
        self.project = project
        self.now = now
        self.random = random
        settings = ProjectSettings(project: project)
    }

    static func json(at path: String) throws(Issues) -> LocatedJSON {
        let bytes: [UInt8]
        do { bytes = try File.read(path) } catch {
            throw Issues(file: path, "the file can't be read: \(error.reason)")
        }
        let value: JSONValue
        do { value = try JSONValue(parsing: bytes, limits: .file) } catch {
            throw Issues(file: path, "not JSON: \(error)")
        }
        guard value.object != nil else { throw Issues(file: path, "expected an object, found \(value.kindName)") }
        return LocatedJSON(value, file: path)
    }

    /// Returns the fields of an exported file. If the file can't be read, adds the error to `issues` and returns `nil`.
    private mutating func fields(of path: String) -> (json: LocatedJSON, fields: MessageFields)? {
        do throws(Issues) {
            let json = try AccountFiles.json(at: path)
            return (json, MessageFields(json.value.object ?? JSONObject()))
        } catch {
            issues += error.all
            return nil
        }
    }

    mutating func readConfig(_ path: String) {
        guard let (json, fields) = fields(of: path) else { return }
        do throws(FirebaseError) {
            settings.oneAccountPerEmail = try fields.nested("signIn")?.flag("allowDuplicateEmails").map { !$0 }
            settings.hidesEmails = try fields.nested("emailPrivacyConfig")?.flag("enableImprovedEmailPrivacy")
        } catch {
            issues.append(Issue(json, "\(error.message) (\(error.diagnosis.line))"))
        }
    }

    mutating func readAccounts(_ path: String, tenant: String?, oneAccountPerEmail: Bool) {
        if let tenant {
            guard tenant.utf8.count <= 64, TextRule.identifier.holds(tenant) else {
                issues.append(Issue(file: path, path: "$", message: "no tenant can be called \"\(tenant)\""))
                return
            }
            tenants.append(tenant)
        }
        guard let (json, fields) = fields(of: path) else { return }
        let list: [MessageFields]
        do throws(FirebaseError) { list = try fields.list("users") } catch {
            issues.append(Issue(json, "\(error.message) (\(error.diagnosis.line))"))
            return
        }
        let pool = UserPool(project: project, tenant: tenant)
        var known = KnownUsers(oneAccountPerEmail: oneAccountPerEmail)
        for (item, place) in zip(list, json["users"]?.items ?? []) {
            do throws(FirebaseError) {
                let user = try User(importing: item, in: pool, now: now, from: .export, &random)
                users.append(user)
                for value in known.insert(user) { issues.append(Issue(place, "\(value) is another user's, too")) }
            } catch {
                issues.append(Issue(place, "\(error.message) (\(error.diagnosis.line))"))
            }
        }
    }
}

/// The IDs, e-mail addresses, phone numbers and identities of the users read so far from an export, to find duplicates.
private struct KnownUsers {
    let oneAccountPerEmail: Bool
    private var ids: Set<String> = []
    private var emails: Set<String> = []
    private var phoneNumbers: Set<String> = []
    private var identities: Set<[String]> = []

    init(oneAccountPerEmail: Bool) { self.oneAccountPerEmail = oneAccountPerEmail }

    /// Remembers a user's ID, e-mail address, phone number and identities. Returns descriptions of those that an
    /// earlier user in the export has, too. An identity that the user has twice is also returned.
    mutating func insert(_ user: User) -> [String] {
        var found: [String] = []
        if !ids.insert(user.localId).inserted { found.append("the localId \"\(user.localId)\"") }
        if oneAccountPerEmail, let email = user.email, !emails.insert(email).inserted {
            found.append("the address \"\(email)\"")
        }
        if let number = user.phoneNumber, !phoneNumbers.insert(number).inserted {
            found.append("the phone number \"\(number)\"")
        }
        let repeated = user.links.first { !identities.insert([$0.providerId, $0.rawId]).inserted }
        if let repeated { found.append("the identity \"\(repeated.rawId)\" of \(repeated.providerId)") }
        return found
    }
}

// The endpoint GET /_understudy/v1/firebase/export, and the export when the daemon ends.

extension FirebaseProvider {
    package static func exportedData(at directory: String, for seed: Seed) throws(Issues) -> (any ExportedData)? {
        try AccountExport(at: directory, for: seed)
    }

    private struct ExportQuery: SchemaObject {
        let project: String?

        init(_ fields: inout Fields) {
            project = fields.optional("project", .text(.any), "The project's ID; the default project by default.")
        }
    }

    var exportCalls: [Endpoint] {
        [
            .control(
                "GET", "firebase/export",
                "Gives a project's users and settings as `firebase emulators:export` writes them, in an archive.",
                reads: .query(ExportQuery.self),
                answers: [
                    .other("The archive.", "application/x-tar"),
                    .refusal(404, "noSuchProject", "There is no such project."),
                ]
            ) { exchange, query in try await exchange.onWorkThread { try exportArchive(exchange, query) } }
        ]
    }

    private func exportArchive(_ exchange: Exchange, _ query: ExportQuery) throws -> Response {
        let id = query.project ?? projects.defaultProject?.id ?? ""
        guard let project = projects.project(id: id) ?? projects.existing(id, in: exchange.world) else {
            return ControlAnswer.error(
                404, "noSuchProject", "there is no project \(Diagnosis.quote(id))", path: "$.project")
        }
        var archive = TarArchive(time: exchange.world.now.seconds)
        let metadata = FirebaseProvider.metadata(over: JSONObject(), folder: AccountExport.folder)
        archive.add(AccountExport.metadataName, Array((metadata.indented() + "\n").utf8))
        for file in try files(of: project, in: exchange.world) {
            archive.add("\(AccountExport.folder)/\(file.name)", file.bytes)
        }
        return Response(
            status: 200,
            headers: [
                (name: "Content-Type", value: "application/x-tar"),
                (name: "Content-Disposition", value: "attachment; filename=\"firebase-export.tar\""),
            ], body: archive.bytes)
    }

    /// Exports the default project's users and settings into a folder in `directory`. The metadata file in `directory`
    /// has the folder's name. A program that reads the folder sees the old export or the new one, never a mixture.
    /// Files of other emulators and files that aren't part of an export stay.
    package func export(_ world: World, to directory: String) throws -> Bool {
        guard let project = projects.defaultProject else { return false }
        try File.makeDirectory(directory, mode: 0o777)
        let known = try FirebaseProvider.metadata(in: directory)
        let folder = try FirebaseProvider.folder(named: known, in: directory)
        let update = try FolderUpdate(
            of: folder, and: AccountExport.metadataName, in: directory, replacing: { AccountExport.isPart($0) })
        let metadata = FirebaseProvider.metadata(over: known, folder: folder)
        try update.write(files(of: project, in: world), and: Array((metadata.indented() + "\n").utf8))
        return true
    }

    /// Returns the contents of the metadata file in an export's directory; empty if the file doesn't exist.
    ///
    /// - Throws: An error if the file can't be parsed, because replacing it would lose the entries of other emulators.
    private static func metadata(in directory: String) throws(File.Failure) -> JSONObject {
        let path = "\(directory)/\(AccountExport.metadataName)"
        guard try File.isThere(.file, at: path) else { return JSONObject() }
        let (bytes, what) = (try File.read(path), "can't be replaced")
        let value: JSONValue
        do { value = try JSONValue(parsing: bytes, limits: .file) } catch {
            throw File.Failure(path, what, "not JSON: \(error)")
        }
        guard let object = value.object else {
            throw File.Failure(path, what, "expected an object, found \(value.kindName)")
        }
        return object
    }

    /// Returns the name of the folder for exported users, as the export's metadata names it.
    ///
    /// - Throws: An error if the folder could be outside the export's directory.
    private static func folder(named metadata: JSONObject, in directory: String) throws(File.Failure) -> String {
        guard let auth = metadata["auth"] else { return AccountExport.folder }
        guard let path = auth.object?["path"]?.string, !["", ".", ".."].contains(path),
            !path.utf8.contains(where: { $0 == UInt8(ascii: "/") || $0 == 0 })
        else {
            throw File.Failure(
                "\(directory)/\(AccountExport.metadataName)", "can't be replaced",
                "$.auth.path isn't the name of a folder beside it")
        }
        return path
    }

    /// Returns the contents of an export's metadata file, with the name of the folder for the users. `known` are the
    /// members of the file that is replaced, which are kept.
    private static func metadata(over known: JSONObject, folder: String) -> JSONValue {
        var metadata = known
        if metadata["version"] == nil { metadata["version"] = "understudy" }
        metadata["auth"] = ["version": "understudy", "path": .string(folder)]
        return .object(metadata)
    }

    /// Returns the names and contents of the files in an export of a project's users and settings.
    private func files(of project: Project, in world: World) throws -> [(name: String, bytes: [UInt8])] {
        if project.hasContents { try world.populate(project) }
        let settings = world.read { $0.find(ProjectSettings.self, project.id) }
        let config = FirebaseProvider.emulatorConfig(of: settings?.apply(to: project) ?? project)
        var files = [(name: AccountExport.configName, bytes: JSONValue.object(config).serialized())]
        let tenants: [String?] = [nil] + world.tenants(of: project)
        for tenant in tenants {
            let accounts = world.exportedUsers(of: UserPool(project: project.id, tenant: tenant))
            files.append((name: AccountExport.accountsName(tenant: tenant), bytes: accounts))
        }
        return files
    }
}

extension World {
    fileprivate func tenants(of project: Project) -> [String] {
        let place = Tenant.place(of: project.id)
        var ids: [String] = []
        while true {
            let page = read { [ids] tables in
                tables.rows(Tenant.order, prefix: place, after: place + (ids.last ?? ""), limit: 1_000).map(\.row.id)
            }
            guard !page.isEmpty else { return ids }
            ids += page
        }
    }

    /// Returns the users of a project or tenant as JSON, in the form of `accounts:batchGet`. The users are read in
    /// batches, so that other requests don't wait for long.
    fileprivate func exportedUsers(of pool: UserPool) -> [UInt8] {
        var text = Array(#"{"kind":"identitytoolkit#DownloadAccountResponse","users":["#.utf8)
        var last: String?
        while true {
            let page = read { [last] tables in tables.users(of: pool, after: last ?? "", limit: 1_000) }
            guard !page.isEmpty else { return text + Array("]}\n".utf8) }
            for user in page {
                if last != nil { text.append(UInt8(ascii: ",")) }
                last = user.localId
                text += user.exported.serialized()
            }
        }
    }
}

extension User {
    /// The user as JSON for an export. Authenticator apps are in a field of our own, because the Firebase emulator
    /// can't read them among `mfaInfo` and skips unknown fields.
    fileprivate var exported: JSONValue {
        guard case .object(var user) = document(.shown, inEmulatorMode: true) else { return [:] }
        let phones = factors.filter { $0.claim == "phone" }
        user["mfaInfo"] =
            phones.isEmpty ? nil : .array(phones.map { $0.document(isMasked: false, inEmulatorMode: true) })
        let apps = factors.compactMap { factor -> JSONValue? in
            guard case .totp(let secret) = factor.kind,
                case .object(var app) = factor.document(isMasked: false, inEmulatorMode: true)
            else {
                return nil
            }
            app["totpInfo"] = nil
            app["sharedSecretKey"] = .string(Base32.encode(secret))
            return .object(app)
        }
        if !apps.isEmpty { user["authenticatorApps"] = .array(apps) }
        return .object(user)
    }
}
