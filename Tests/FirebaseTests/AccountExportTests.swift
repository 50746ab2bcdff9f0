import Foundation
import TestSupport
import Testing
import Understudy

/// A folder for exports, removed with the last reference.
final class ExportFolder {
    static let metadata = "firebase-export-metadata.json"
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appending(path: "export-\(UUID().uuidString)").path()
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func write(_ files: [String: String]) throws {
        for (name, text) in files {
            let file = URL(fileURLWithPath: "\(path)/\(name)")
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
        }
    }

    func json(_ name: String) throws -> [String: Any] {
        let data = try Data(contentsOf: URL(fileURLWithPath: "\(path)/\(name)"))
        return try JSONSerialization.jsonObject(with: data) as? [String: Any] ?? [:]
    }

    /// An export by the official emulator, with a user, and one of a tenant.
    static let official = [
        "firebase-export-metadata.json":
            #"{"version":"14.0.0","firestore":{"path":"firestore_export"},"auth":{"version":"14.0.0","path":"auth_export"}}"#,
        "auth_export/config.json":
            #"{"signIn":{"allowDuplicateEmails":true},"emailPrivacyConfig":{"enableImprovedEmailPrivacy":false}}"#,
        "auth_export/accounts.json": """
        {"kind":"identitytoolkit#DownloadAccountResponse","users":[{"localId":"u1","createdAt":"1700000000000",
        "lastLoginAt":"1700000001000","email":"ada@example.org","emailVerified":true,"displayName":"Ada",
        "passwordHash":"fakeHash:salt=fakeSaltX:password=hawaii","salt":"fakeSaltX","passwordUpdatedAt":1700000000000,
        "customAttributes":"{\\"role\\":\\"admin\\"}","validSince":"1700000000","initialEmail":"first@example.org",
        "providerUserInfo":[{"providerId":"google.com","rawId":"7","federatedId":"7","email":"ada@gmail.com"},
        {"providerId":"password","email":"ada@example.org","federatedId":"ada@example.org","rawId":"ada@example.org"}],
        "mfaInfo":[{"displayName":"Cell","phoneInfo":"+15555550100","mfaEnrollmentId":"m1",
        "enrolledAt":"2023-04-05T06:07:28.990Z","unobfuscatedPhoneInfo":"+15555550100"}]}]}
        """,
        "auth_export/accounts-corp.json": """
        {"users":[{"localId":"t1","email":"tom@example.org","tenantId":"corp","salt":"s",
        "passwordHash":"fakeHash:salt=s:password=tenant1"},
        {"localId":"t2","email":"una@example.org","emailVerified":false,"phoneNumber":"+1 555 555 0101",
        "mfaInfo":[{"phoneInfo":"+1 555 0100","mfaEnrollmentId":"m2"}]}]}
        """,
    ]
}

@Suite("Firebase: data of emulators:export")
struct AccountExportTests {
    private static let project = "demo-imported"
    private let folder: ExportFolder

    init() throws { folder = try ExportFolder() }

    private func start(_ directory: String? = nil, seeds: [SeedInput] = [.firebaseProject(project)]) throws
        -> TestServer
    {
        var options = RunningServer.Options()
        options.importDirectory = directory ?? folder.path
        return try TestServer.start(seeds: seeds, options: options)
    }

    private func signIn(_ server: TestServer, _ body: [String: String], world: String = "") throws -> Answer {
        try TestClient(port: server.port).post(
            "\(world)/identitytoolkit.googleapis.com/v1/accounts:signInWithPassword?key=any", json: body)
    }

    private func users(_ server: TestServer) throws -> [[String: Any]] {
        let answer = try TestClient(port: server.port).request(
            "POST", "/identitytoolkit.googleapis.com/v1/projects/\(AccountExportTests.project)/accounts:query",
            headers: ["Authorization": "Bearer owner"])
        return answer.json["userInfo"] as? [[String: Any]] ?? []
    }

    @Test("every world begins with the users, those of tenants and the settings; a reset brings them back")
    func importing() throws {
        try folder.write(ExportFolder.official)
        let server = try start()
        defer { server.stop() }
        let first = try signIn(server, ["email": "ada@example.org", "password": "hawaii"])
        #expect(first["localId"] == "u1")
        #expect((first.json["mfaInfo"] as? [[String: Any]])?.first?["mfaEnrollmentId"] as? String == "m1")
        // The official emulator accepts numbers and factors that its own importer refuses.
        let una = try TestClient(port: server.port).request(
            "POST",
            "/identitytoolkit.googleapis.com/v1/projects/\(AccountExportTests.project)/tenants/corp/accounts:lookup",
            headers: ["Authorization": "Bearer owner"], body: Array(#"{"localId":["t2"]}"#.utf8))
        #expect(una.text.contains("+1 555 0100"))
        let tom = ["email": "tom@example.org", "password": "tenant1", "tenantId": "corp"]
        #expect(try signIn(server, tom)["localId"] == "t1")
        #expect(try signIn(server, tom, world: "/~other")["localId"] == "t1")
        let user = try #require(try users(server).first)
        #expect(user["createdAt"] as? String == "1700000000000")
        #expect(user["customAttributes"] as? String == #"{"role":"admin"}"#)
        #expect(user["initialEmail"] as? String == "first@example.org")
        #expect((user["providerUserInfo"] as? [[String: Any]])?.first?["rawId"] as? String == "7")
        let client = TestClient(port: server.port)
        let config = try client.get("/emulator/v1/projects/\(AccountExportTests.project)/config").json
        #expect((config["signIn"] as? [String: Any])?["allowDuplicateEmails"] as? Bool == true)

        let path = "/emulator/v1/projects/\(AccountExportTests.project)/accounts"
        #expect(try client.request("DELETE", path).status == 200)
        #expect(try users(server).isEmpty)
        _ = try client.post("/_understudy/v1/reset", json: [:])
        #expect(try users(server).count == 1)
    }

    @Test("the folder with the accounts will do, or the root without metadata", arguments: ["", "/auth_export"])
    func folders(place: String) throws {
        try folder.write(ExportFolder.official.filter { $0.key != "firebase-export-metadata.json" })
        let server = try start(folder.path + place)
        defer { server.stop() }
        #expect(try users(server).count == 1)
    }

    @Test("users come to the seed's first project beside those that it has")
    func seeded() throws {
        try folder.write(ExportFolder.official)
        let seed = #"{"firebase":{"projects":[{"id":"\#(AccountExportTests.project)","users":[{"localId":"own"}]}]}}"#
        let server = try start(seeds: [.json(seed)])
        defer { server.stop() }
        #expect(try users(server).map { $0["localId"] as? String } == ["own", "u1"])
    }

    @Test(
        "what is wrong is said with file and path, and nothing is started",
        arguments: [
            ("auth_export/accounts.json", "{", "accounts.json: $: not JSON"),
            ("auth_export/accounts.json", "[]", "accounts.json: $: expected an object"),
            ("auth_export/accounts.json", #"{"users":1}"#, "accounts.json: $: Invalid value at 'users'"),
            (
                "auth_export/accounts.json", #"{"users":[{"localId":"a"},{"localId":"b","email":"x"}]}"#,
                "accounts.json: $.users[1]: email is invalid"
            ), ("auth_export/accounts.json", #"{"users":["x"]}"#, "accounts.json: $.users[0]: localId is missing"),
            (
                "auth_export/accounts.json", #"{"users":[{"localId":"a"},{"localId":"a"}]}"#,
                "accounts.json: $.users[1]: the localId \"a\" is another user's, too"
            ),
            (
                "auth_export/accounts.json",
                #"{"users":[{"localId":"a","authenticatorApps":[{"mfaEnrollmentId":"f"}]}]}"#,
                "accounts.json: $.users[0]: Second factor not supported."
            ),
            (
                "auth_export/accounts-corp.json", #"{"users":[{"localId":"a","tenantId":"other"}]}"#,
                "accounts-corp.json: $.users[0]: Tenant id in userInfo does not match"
            ), ("auth_export/accounts-a b.json", "{}", "accounts-a b.json: $: no tenant can be called \"a b\""),
            ("auth_export/config.json", #"{"signIn":{"allowDuplicateEmails":"x"}}"#, "config.json: $: Invalid value"),
            ("firebase-export-metadata.json", "{}", "firebase-export-metadata.json: $: no accounts were exported"),
            (
                "firebase-export-metadata.json", #"{"auth":{}}"#,
                "firebase-export-metadata.json: $.auth: \"path\" is missing"
            ),
            ("firebase-export-metadata.json", #"{"auth":{"path":"no"}}"#, "/no: $: the folder can't be read"),
        ])
    func broken(file: String, text: String, wanted: String) throws {
        try folder.write(ExportFolder.official)
        try folder.write([file: text])
        let error = #expect(throws: StartError.self) { _ = try start() }
        #expect(error?.description.contains(wanted) == true, "\(error?.description ?? "")")
        #expect(error?.description.hasPrefix(folder.path) == true)
    }

    @Test("a folder without accounts, one that isn't there, and no project to import to")
    func nothing() throws {
        func reason(_ path: String, _ seeds: [SeedInput]) -> String {
            let error = #expect(throws: StartError.self) { _ = try start(path, seeds: seeds) }
            return error?.description ?? ""
        }
        let project = [SeedInput.firebaseProject("demo-x")]
        #expect(reason(folder.path, project) == "\(folder.path): $: no accounts.json in this folder")
        #expect(
            reason("/nonexistent", project) == "/nonexistent: $: the folder can't be read: No such file or directory")
        #expect(reason(folder.path, [.json("{}")]).hasSuffix("no project to import to: name one with --project"))
    }

    @Test(
        "an export holds what the official emulator reads, and comes back here as it was, authenticator apps included")
    func exporting() throws {
        try folder.write(ExportFolder.official)
        try folder.write(["firestore_export/data": "kept", "auth_export/old.txt": "x"])
        let server = try start()
        let client = TestClient(port: server.port)
        let admin = ["Authorization": "Bearer owner", "Content-Type": "application/json"]
        let app =
            #"{"users":[{"localId":"u2","email":"bob@example.org","emailVerified":true,"rawPassword":"secret1","#
            + #""authenticatorApps":[{"mfaEnrollmentId":"app","sharedSecretKey":"JBSWY3DPEHPK3PXP"}]}]}"#
        let upload = try client.request(
            "POST", "/identitytoolkit.googleapis.com/v1/projects/\(AccountExportTests.project)/accounts:batchCreate",
            headers: admin, body: Array(app.utf8))
        #expect(upload.json["error"] as? [String] == [])
        try server.export(to: folder.path)
        let before = try users(server)
        server.stop()

        let accounts = try #require(try folder.json("auth_export/accounts.json")["users"] as? [[String: Any]])
        #expect(accounts.map { $0["localId"] as? String } == ["u1", "u2"])
        #expect(accounts[0]["passwordHash"] as? String == "fakeHash:salt=fakeSaltX:password=hawaii")
        #expect(accounts[0]["salt"] as? String == "fakeSaltX")
        #expect((accounts[1]["passwordHash"] as? String)?.hasSuffix(":password=secret1") == true)
        // The official emulator refuses a user whose mfaInfo has an app.
        #expect(accounts[1]["mfaInfo"] == nil)
        let tenant = try folder.json("auth_export/accounts-corp.json")["users"] as? [[String: Any]]
        #expect(tenant?.first?["tenantId"] as? String == "corp")
        let metadata = try folder.json("firebase-export-metadata.json")
        #expect(metadata["version"] as? String == "14.0.0")
        #expect(metadata["firestore"] != nil)
        #expect((metadata["auth"] as? [String: Any])?["path"] as? String == "auth_export")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        #expect(names == ["auth_export", "firebase-export-metadata.json", "firestore_export"])
        #expect(FileManager.default.fileExists(atPath: "\(folder.path)/auth_export/old.txt"))

        let again = try start()
        defer { again.stop() }
        let after = try users(again)
        #expect(NSArray(array: after) == NSArray(array: before))
        #expect((after.last?["mfaInfo"] as? [[String: Any]])?.first?["mfaEnrollmentId"] as? String == "app")
    }

    @Test("what can't be written leaves the former export as it was")
    func failure() throws {
        try folder.write(["file": "x"])
        let fixture = try FirebaseFixture(isAlone: true)
        let error = #expect(throws: StartError.self) { try fixture.server.export(to: "\(folder.path)/file/below") }
        #expect(error?.description.contains("can't be made") == true)
        let other = try TestServer.start(seeds: [.json("{}")])
        defer { other.stop() }
        #expect(throws: StartError.self) { try other.export(to: folder.path) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["file"])
    }

    @Test("the control API gives an archive that tar reads, of any project")
    func archive() throws {
        let fixture = try FirebaseFixture(isAlone: true)
        _ = try fixture.signUp("ada@example.org")
        _ = try fixture.v1("signUp", ["returnSecureToken": true], key: "demo-other")
        for (query, text) in [("", "ada@example.org"), ("?project=demo-other", #""users":[{"localId""#)] {
            let answer = try fixture.client.get("\(FirebaseFixture.control)/firebase/export\(query)")
            #expect(answer.status == 200)
            #expect(answer.header("Content-Type") == "application/x-tar")
            let file = "\(folder.path)/export.tar"
            try Data(answer.body).write(to: URL(fileURLWithPath: file))
            let list = try Shell.run("tar", ["--list", "--file", file])
            #expect(
                list.output.split(separator: "\n").prefix(3) == [
                    "firebase-export-metadata.json", "auth_export/config.json", "auth_export/accounts.json",
                ])
            let accounts = try Shell.run(
                "tar", ["--extract", "--to-stdout", "--file", file, "auth_export/accounts.json"])
            #expect(accounts.output.contains(text))
        }
        #expect(try fixture.client.get("\(FirebaseFixture.control)/firebase/export?project=never").status == 404)
    }
}
