import EmulatorCore
import HTTPServer
import JSON

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
            ) { try exportArchive($0, $1) }
        ]
    }

    private func exportArchive(_ exchange: Exchange, _ query: ExportQuery) throws -> Response {
        let id = query.project ?? projects.defaultProject?.id ?? ""
        // A project that was taken on trust exists from then on.
        let pool = UserPool(project: id, tenant: nil)
        let isMade = exchange.world.read { $0.find(UnseededPool.self, pool) != nil }
        guard let project = projects.project(id: id) ?? (isMade ? Project(unseeded: id) : nil) else {
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

    /// Writes the default project's users and settings to the folder that the directory's metadata names. A reader sees
    /// the former export or this one, never a part. The exports of other emulators stay, and so do files beside the
    /// accounts that exports don't have.
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

    /// Returns the metadata of a directory, without members if there is none.
    ///
    /// - Throws: An error if it can't be parsed, because writing it back would drop other emulators' entries.
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

    /// Returns the folder with the accounts.
    ///
    /// - Throws: An error if it could be outside the directory.
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

    /// Returns `known` with the folder of the accounts.
    private static func metadata(over known: JSONObject, folder: String) -> JSONValue {
        var metadata = known
        if metadata["version"] == nil { metadata["version"] = "understudy" }
        metadata["auth"] = ["version": "understudy", "path": .string(folder)]
        return .object(metadata)
    }

    /// Returns the files in the folder of the accounts.
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
    /// Returns the IDs of a project's tenants.
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

    /// Returns a pool's users in the form of `accounts:batchGet`. They are read in batches, so that other requests
    /// don't have to wait for long.
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
    /// The user in the form of exports. The official emulator can't read authenticator apps among `mfaInfo`, and skips
    /// unknown fields.
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
