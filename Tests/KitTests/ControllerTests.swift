import Foundation
import TestSupport
import Testing

@Suite("The system's sign-in", .enabled(if: Machine.isLinux, "elsewhere it is compiled"))
struct ControllerTests {
    @Test(
        "fits what Apple documents of AuthenticationServices, whether its delegate is the main actor's or anybody's",
        arguments: ["@MainActor", ""])
    func typeCheck(isolation: String) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "framework-\(UUID().uuidString)").path()
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let declarations = try Repository.read(
            "Tests/KitTests/AuthenticationServices/AuthenticationServices.swift.txt"
        ).replacing("ISOLATION", with: isolation)
        let common = ["-swift-version", "6", "-enable-upcoming-feature", "ExistentialAny"]
        try declarations.write(toFile: "\(folder)/declarations.swift", atomically: true, encoding: .utf8)
        let framework = try Shell.run(
            "swiftc",
            common + [
                "-emit-module", "-parse-as-library", "-module-name", "AuthenticationServices",
                "-o", "\(folder)/AuthenticationServices.swiftmodule", "\(folder)/declarations.swift",
            ])
        #expect(framework.status == 0, "\(framework.errors)")
        let sources = "\(Repository.root)/Sources/UnderstudyClient"
        let files = try #require(FileManager.default.enumerator(atPath: sources)).compactMap { $0 as? String }
            .filter { $0.hasSuffix(".swift") }.map { "\(sources)/\($0)" }
        let client = try Shell.run(
            "swiftc",
            common + [
                "-typecheck", "-warnings-as-errors", "-package-name", "understudy", "-module-name", "UnderstudyClient",
                "-I", folder,
            ] + files)
        #expect(client.status == 0, "\(client.errors)")
    }
}
