import Foundation
import TestSupport
import Testing
import Understudy

/// An export leaves other files alone, and an export or import refuses what is in its way.
@Suite("Firebase: exports and what others have in their place")
struct AccountExportSafetyTests {

    private let folder: ExportFolder

    init() throws { folder = try ExportFolder() }

    /// Returns everything below the folder: files with their text, links with their targets, directories with a slash.
    private func contents() throws -> [String: String] {
        var contents: [String: String] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: folder.path) {
            let path = "\(folder.path)/\(name)"
            let type = try FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType
            contents[name] =
                switch type {
                case .typeDirectory: "/"
                case .typeSymbolicLink: try FileManager.default.destinationOfSymbolicLink(atPath: path)
                default: try String(contentsOfFile: path, encoding: .utf8)
                }
        }
        return contents
    }

    private func refusal() throws -> String {
        let fixture = try FirebaseFixture(isAlone: true)
        let error = #expect(throws: StartError.self) { try fixture.server.export(to: folder.path) }
        return error?.description ?? ""
    }

    @Test("files of others stay, former accounts go, and no draft is left")
    func foreignFiles() throws {
        let foreign = [
            "auth_export.new/mine.txt": "1", "auth_export.old/mine.txt": "2",
            "\(ExportFolder.metadata).new": "3",
            "auth_export/notes.txt": "4", "auth_export/deep/er/accounts.json": "5",
            "auth_export/accounts.json.new": "6",
            "auth_export/config.json.bak": "7",
        ]
        try folder.write(foreign)
        try folder.write(["auth_export/accounts.json": "old", "auth_export/accounts-gone.json": "old"])
        let place = "\(folder.path)/auth_export"
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: place)
        let fixture = try FirebaseFixture(isAlone: true)
        try fixture.server.export(to: folder.path)
        var after = try contents().filter { $0.value != "/" }
        for (name, text) in foreign { #expect(after.removeValue(forKey: name) == text) }
        #expect(
            after.keys.sorted() == [
                "auth_export/accounts-demo-tenant.json", "auth_export/accounts.json", "auth_export/config.json",
                ExportFolder.metadata,
            ])
        #expect(after["auth_export/accounts.json"]?.hasPrefix(#"{"kind""#) == true)
        let mode = try FileManager.default.attributesOfItem(atPath: place)[.posixPermissions] as? Int
        #expect(mode == 0o700)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 5)
    }

    @Test("a foreign file that can't be kept brings everything back as it was")
    func undone() throws {
        try folder.write(["auth_export/a.txt": "mine", "auth_export/accounts.json": "old", ExportFolder.metadata: "{}"])
        // The name isn't UTF-8, so it can't be a string.
        let path = "\(folder.path)/auth_export/b".utf8.map { CChar(bitPattern: $0) } + [-1, 0]
        let descriptor = open(path, O_WRONLY | O_CREAT, 0o600)
        try #require(descriptor >= 0)
        close(descriptor)
        #expect(try refusal().contains("can't be written: No such file or directory"))
        #expect(access(path, F_OK) == 0)
        for (name, text) in [
            ("auth_export/a.txt", "mine"), ("auth_export/accounts.json", "old"), (ExportFolder.metadata, "{}"),
        ] {
            #expect(try String(contentsOfFile: "\(folder.path)/\(name)", encoding: .utf8) == text)
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        #expect(names == ["auth_export", ExportFolder.metadata])
        unlink(path)
    }

    @Test(
        "metadata that can't be understood is named, and nothing is changed",
        arguments: [
            (#"{"version":"13.0","firestore":{"path":"fs"},}"#, "not JSON"), ("", "not JSON"),
            (#"{"firestore":{"path":"a"},"firestore":{"path":"b"}}"#, "not JSON"),
            ("[]", "expected an object, found an array"), (#"{"auth":{}}"#, "$.auth.path isn't the name of a folder"),
            (#"{"auth":"x"}"#, "$.auth.path isn't"), (#"{"auth":{"path":1}}"#, "$.auth.path isn't"),
            (#"{"auth":{"path":""}}"#, "$.auth.path isn't"), (#"{"auth":{"path":"."}}"#, "$.auth.path isn't"),
            (#"{"auth":{"path":".."}}"#, "$.auth.path isn't"), (#"{"auth":{"path":"../x"}}"#, "$.auth.path isn't"),
            (#"{"auth":{"path":"/tmp"}}"#, "$.auth.path isn't"), (#"{"auth":{"path":"a/b"}}"#, "$.auth.path isn't"),
            (#"{"auth":{"path":"a\u0000b"}}"#, "$.auth.path isn't"),
        ])
    func brokenMetadata(text: String, reason: String) throws {
        try folder.write([ExportFolder.metadata: text, "auth_export/accounts.json": "old"])
        let before = try contents()
        let message = try refusal()
        #expect(message.hasPrefix("\(folder.path)/\(ExportFolder.metadata) can't be replaced: \(reason)"))
        #expect(try contents() == before)
    }

    @Test("the accounts go where the metadata says")
    func otherFolder() throws {
        let name = ExportFolder.metadata
        try folder.write([
            name: #"{"firestore":{"path":"fs"},"auth":{"path":"other"}}"#, "other/accounts.json": "old",
            "auth_export/accounts.json": "not ours",
        ])
        let fixture = try FirebaseFixture(isAlone: true)
        _ = try fixture.signUp("ada@example.org")
        try fixture.server.export(to: folder.path)
        let after = try contents()
        #expect(after["other/accounts.json"]?.contains("ada@example.org") == true)
        #expect(after["auth_export/accounts.json"] == "not ours")
        let metadata = try folder.json(name)
        #expect((metadata["auth"] as? [String: Any])?["path"] as? String == "other")
        #expect((metadata["firestore"] as? [String: Any])?["path"] as? String == "fs")
    }

    @Test(
        "a directory, a file or a link in the place of something else is named, and nothing is changed",
        arguments: [
            ("auth_export", "file", "the path isn't a directory"),
            ("auth_export", "link", "the path is a symbolic link"),
            ("auth_export/accounts.json", "folder", "the path is a directory"),
            ("auth_export/accounts-corp.json", "link", "the path is a symbolic link"),
            (ExportFolder.metadata, "folder", "the path is a directory"),
            (ExportFolder.metadata, "link", "the path is a symbolic link"),
        ])
    func inTheWay(name: String, kind: String, reason: String) throws {
        try folder.write(["elsewhere/accounts.json": "old"])
        let path = "\(folder.path)/\(name)"
        if name != "auth_export" { try folder.write(["auth_export/config.json": "old"]) }
        switch kind {
        case "file": try folder.write([name: "mine"])
        case "link": try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "../elsewhere")
        default: try folder.write(["\(name)/mine.txt": "mine"])
        }
        let before = try contents()
        #expect(try refusal() == "\(path) can't be replaced: \(reason)")
        #expect(try contents() == before)
    }

    @Test(
        "an import refuses what only one user may have",
        arguments: [
            (#"{"localId":"a"},{"localId":"a"}"#, #"$.users[1]: the localId "a" is"#),
            (
                #"{"localId":"a","email":"a@x.example"},{"localId":"b","email":"A@x.example"}"#,
                #"$.users[1]: the address "a@x.example" is"#
            ),
            (
                #"{"localId":"a","phoneNumber":"+15555550100"},{"localId":"b"},{"localId":"c","phoneNumber":"+15555550100"}"#,
                #"$.users[2]: the phone number "+15555550100" is"#
            ),
            (
                #"{"localId":"a","providerUserInfo":[{"providerId":"p.com","rawId":"7"},{"providerId":"p.com","rawId":"7"}]}"#,
                #"$.users[0]: the identity "7" of p.com is"#
            ),
        ])
    func duplicates(users: String, reason: String) throws {
        for name in ["accounts.json", "accounts-corp.json"] {
            let folder = try ExportFolder()
            try folder.write([name: #"{"users":[\#(users)]}"#])
            let error = #expect(throws: StartError.self) { _ = try start(folder) }
            #expect(error?.description == "\(folder.path)/\(name): \(reason) another user's, too")
        }
    }

    @Test("an address may be of two users where the settings say so, and a tenant's users are apart from the project's")
    func separate() throws {
        let users = #"{"users":[{"localId":"a","email":"a@x.example","phoneNumber":"+15555550100"}]}"#
        try folder.write(["accounts.json": users, "accounts-corp.json": users])
        try start(folder).stop()
        let twice = #"{"users":[{"localId":"a","email":"a@x.example"},{"localId":"b","email":"a@x.example"}]}"#
        try folder.write(["accounts.json": twice, "config.json": #"{"signIn":{"allowDuplicateEmails":true}}"#])
        try start(folder).stop()
        try folder.write(["config.json": #"{"signIn":{"allowDuplicateEmails":false}}"#])
        #expect(throws: StartError.self) { _ = try start(folder) }
    }

    @Test("accounts-.json isn't the project's")
    func withoutTenant() throws {
        try folder.write(["accounts.json": "{}", "accounts-.json": "{}"])
        let error = #expect(throws: StartError.self) { _ = try start(folder) }
        #expect(error?.description == "\(folder.path)/accounts-.json: $: no tenant can be called \"\"")
    }

    private func start(_ folder: ExportFolder) throws -> TestServer {
        var options = RunningServer.Options()
        options.importDirectory = folder.path
        return try TestServer.start(seeds: [.firebaseProject("demo-imported")], options: options)
    }
}
