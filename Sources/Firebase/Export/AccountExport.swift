import EmulatorCore
import JOSE
import JSON
import Time

// The Authentication part of what `firebase emulators:export` writes and `emulators:start --import` reads: a folder of
// JSON files. https://firebase.google.com/docs/emulator-suite/install_and_configure#export_and_import_emulator_data
//
// Quirks: it has the users of one project, and doesn't name the project. A tenant is known only by the file of its
// users: its settings aren't exported, and the import makes it with everything enabled.

/// The users and settings of an exported project.
struct AccountExport: ExportedData {
    /// The project that gets them: the default one.
    let project: String
    /// The users of the project and of its tenants.
    let users: [User]
    let tenants: [String]
    let settings: ProjectSettings
    let digest: String

    /// The file at the root of an export, which names the folders of its parts.
    static let metadataName = "firebase-export-metadata.json"
    /// The name of the folder that the official emulator writes.
    static let folder = "auth_export"
    static let configName = "config.json"

    /// Returns the name of the file with the users of a tenant, or of the project itself.
    static func accountsName(tenant: String?) -> String { tenant.map { "accounts-\($0).json" } ?? "accounts.json" }

    /// Whether a file in the folder of the accounts belongs to the export.
    static func isPart(_ name: String) -> Bool { name == configName || isAccounts(name) }

    private static func isAccounts(_ name: String) -> Bool {
        name == accountsName(tenant: nil) || name.hasPrefix("accounts-") && name.hasSuffix(".json")
    }

    /// Reads an export: its root, with or without the metadata, or the folder with the accounts.
    ///
    /// - Throws: Everything that is wrong, each with its file and path.
    init(at directory: String, for seed: Seed) throws(Issues) {
        let section = seed[FirebaseSection.self]
        guard let project = section.defaultProject ?? section.projects.first?.id else {
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
    }

    /// Returns a digest of the files' contents and names, and of the project that gets them.
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

    /// Puts the users and settings into a world, over the seed's.
    func put(_ tables: inout Transaction) {
        for id in tenants where tables.find(Tenant.self, UserPool(project: project, tenant: id)) == nil {
            tables.put(Tenant(unconfigured: id, of: project))
        }
        for user in users { tables.put(user) }
        tables.put(settings)
    }

    /// Returns the folder with the accounts.
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

/// Reads the files of an export, and collects what is wrong with them.
private struct AccountFiles {
    let project: String
    /// The time of a user's creation, if the file has none.
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

    /// Returns the file's fields; `nil`, after recording an issue, if it can't be read.
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

/// The values that only one user of a project or tenant may have.
private struct KnownUsers {
    let oneAccountPerEmail: Bool
    private var ids: Set<String> = []
    private var emails: Set<String> = []
    private var phoneNumbers: Set<String> = []
    private var identities: Set<[String]> = []

    init(oneAccountPerEmail: Bool) { self.oneAccountPerEmail = oneAccountPerEmail }

    /// Adds a user, and returns those of the user's values that an earlier user has, too, or that the user has twice.
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
