// swift-tools-version: 6.1
import PackageDescription

/// The runner links libFuzzer, so it is there only when `make fuzz` asks for it.
let fuzzes = Context.environment["UNDERSTUDY_FUZZ"] != nil

let strict: [SwiftSetting] = [.swiftLanguageMode(.v6), .enableUpcomingFeature("ExistentialAny")]

/// The name by which pkg-config knows a library. Only on macOS, where Homebrew keeps libraries in folders of its own: elsewhere
/// they lie where compilers look anyway, and jansson's own flags would link its shared library.
func pkgConfig(_ name: String) -> String? {
    #if os(macOS)
        name
    #else
        nil
    #endif
}

/// The folder of the executable whose files are for other systems than this one.
#if os(Linux)
    let foreign = "Elsewhere"
#else
    let foreign = "Linux"
#endif

let package = Package(
    name: "understudy",
    // The platforms other than macOS are only for the kits, which use no C library.
    platforms: [.macOS(.v15), .iOS(.v16), .tvOS(.v16), .watchOS(.v9), .visionOS(.v1)],
    products: [
        .library(name: "Understudy", targets: ["Understudy"]),
        .library(name: "UnderstudyClient", targets: ["UnderstudyClient"]),
        .library(name: "UnderstudyTesting", targets: ["UnderstudyTesting"]),
        .library(name: "UnderstudyInProcess", targets: ["UnderstudyInProcess"]),
        .executable(name: "understudy", targets: ["CommandLineTool"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    ],
    targets: [
        .systemLibrary(
            name: "COpenSSL", pkgConfig: pkgConfig("openssl"),
            providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]),
        .systemLibrary(
            name: "CJansson", pkgConfig: pkgConfig("jansson"),
            providers: [.apt(["libjansson-dev"]), .brew(["jansson"])]),
        .systemLibrary(
            name: "CSQLite", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CNamespaces"),
        .systemLibrary(
            name: "CMicrohttpd", pkgConfig: pkgConfig("libmicrohttpd"),
            providers: [.apt(["libmicrohttpd-dev"]), .brew(["libmicrohttpd"])]),
        .target(name: "CPlatform"),
        .target(name: "Platform", dependencies: ["CPlatform"], swiftSettings: strict),
        .target(name: "Text", dependencies: ["Platform"], swiftSettings: strict),
        .target(name: "Time", dependencies: ["Platform"], swiftSettings: strict),
        .target(
            name: "JSON", dependencies: ["CJansson", "Text", "Time"], swiftSettings: strict,
            // The archive: the executable needs no libjansson where it runs. On macOS, pkg-config names the library.
            linkerSettings: [.linkedLibrary(":libjansson.a", .when(platforms: [.linux]))]),
        .target(
            name: "SQLite", dependencies: ["CSQLite", "Platform"], swiftSettings: strict,
            // The archive, as jansson's. It calculates with the library of mathematics.
            linkerSettings: [
                .linkedLibrary(":libsqlite3.a", .when(platforms: [.linux])),
                .linkedLibrary("m", .when(platforms: [.linux])),
                .linkedLibrary("sqlite3", .when(platforms: [.macOS])),
            ]),
        .target(name: "CPostgreSQL", linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]),
        .target(name: "PostgreSQL", dependencies: ["CPostgreSQL", "Platform"], swiftSettings: strict),
        .target(name: "JOSE", dependencies: ["COpenSSL", "JSON", "Text", "Time"], swiftSettings: strict),
        .target(name: "WebAuthn", dependencies: ["JSON", "JOSE"], swiftSettings: strict),
        .target(name: "CConnections", dependencies: ["CMicrohttpd", "CPlatform"]),
        .target(
            name: "HTTPServer", dependencies: ["CMicrohttpd", "CConnections", "Platform", "Text"], swiftSettings: strict
        ),
        .target(name: "Proxy", dependencies: ["HTTPServer", "Platform"], swiftSettings: strict),
        .target(name: "HTTPClient", dependencies: ["COpenSSL", "Platform"], swiftSettings: strict),
        .target(
            name: "SMTPServer", dependencies: ["COpenSSL", "HTTPServer", "JOSE", "Platform"], swiftSettings: strict),
        .target(
            name: "Worlds",
            dependencies: [
                "JSON", "JOSE", "Platform", "PostgreSQL", "SQLite", "Time",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .target(name: "Recordings", dependencies: ["HTTPServer", "Worlds"], swiftSettings: strict),
        .target(
            name: "EmulatorCore",
            dependencies: [
                "HTTPServer", "JSON", "JOSE", "Platform", "Recordings", "Text", "Time", "HTTPClient", "Worlds",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .target(
            name: "Mail",
            dependencies: ["EmulatorCore", "HTTPServer", "JOSE", "SMTPServer", "Platform", "Time"],
            swiftSettings: strict),
        .target(
            name: "OAuth", dependencies: ["EmulatorCore", "Platform"], exclude: ["Assets"], swiftSettings: strict,
            plugins: ["EmbedAssets"]),
        .target(
            name: "Apple", dependencies: ["OAuth"], exclude: ["Assets"], swiftSettings: strict,
            plugins: ["EmbedAssets"]),
        .target(
            name: "GitHub", dependencies: ["OAuth"], exclude: ["Assets"], swiftSettings: strict,
            plugins: ["EmbedAssets"]),
        .target(
            name: "Google", dependencies: ["OAuth"], exclude: ["Assets"], swiftSettings: strict,
            plugins: ["EmbedAssets"]),
        .target(
            name: "Facebook", dependencies: ["OAuth"], exclude: ["Assets"], swiftSettings: strict,
            plugins: ["EmbedAssets"]),
        .target(
            name: "Microsoft", dependencies: ["OAuth"], exclude: ["Assets"], swiftSettings: strict,
            plugins: ["EmbedAssets"]),
        .target(
            name: "OpenID", dependencies: ["OAuth", "ModelContextProtocol"], exclude: ["Assets"], swiftSettings: strict,
            plugins: ["EmbedAssets"]),
        .plugin(name: "EmbedAssets", capability: .buildTool()),
        .target(
            name: "Firebase", dependencies: ["OAuth", "WebAuthn"], exclude: ["Assets"], swiftSettings: strict,
            plugins: ["EmbedAssets"]),
        .target(name: "Control", dependencies: ["EmulatorCore", "Platform"], swiftSettings: strict),
        .target(
            name: "Inspector", dependencies: ["Control"], exclude: ["Assets"], swiftSettings: strict,
            plugins: ["EmbedAssets"]),
        .plugin(name: "EmbedSeedData", capability: .buildTool()),
        .target(
            name: "Understudy",
            dependencies: [
                "Apple", "GitHub", "Google", "Facebook", "Microsoft", "OpenID", "Firebase", "Control", "Inspector",
                "Platform", "Proxy", "Mail", "SMTPServer",
            ],
            swiftSettings: strict, plugins: ["EmbedSeedData"]),
        .target(name: "UnderstudyClient", swiftSettings: strict),
        .target(name: "UnderstudyTesting", dependencies: ["UnderstudyClient"], swiftSettings: strict),
        .target(
            name: "UnderstudyInProcess", dependencies: ["Understudy", "UnderstudyTesting"], swiftSettings: strict),
        .target(name: "ModelContextProtocol", dependencies: ["JSON", "Platform"], swiftSettings: strict),
        .target(name: "Assistants", dependencies: ["ModelContextProtocol", "Understudy"], swiftSettings: strict),
        .executableTarget(
            name: "CommandLineTool",
            dependencies: [
                "Assistants", "Understudy", "Proxy", "EmulatorCore", "HTTPClient", "JSON", "JOSE", "Time", "Platform",
                .target(name: "CNamespaces", condition: .when(platforms: [.linux])),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            exclude: [foreign], swiftSettings: strict),
        .target(
            name: "TestSupport", dependencies: ["Understudy", "Platform", "SMTPServer"], path: "Tests/TestSupport",
            swiftSettings: strict),
        // The fuzz targets are an ordinary target, so that the tests can run the corpus.
        .target(
            name: "FuzzTargets",
            dependencies: [
                "Understudy", "SMTPServer", "ModelContextProtocol", "Platform",
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/Fuzz/Targets", swiftSettings: strict),
        .testTarget(
            name: "LibraryTests",
            dependencies: [
                "HTTPServer", "JOSE", "JSON", "ModelContextProtocol", "Platform", "PostgreSQL", "Proxy",
                "SMTPServer", "Time", "WebAuthn", "TestSupport",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "KitTests",
            dependencies: [
                "UnderstudyClient", "UnderstudyTesting", "UnderstudyInProcess", "EmulatorCore", "HTTPServer",
                "Understudy", "TestSupport",
            ],
            exclude: ["AuthenticationServices"], swiftSettings: strict),
        .testTarget(name: "FuzzTests", dependencies: ["FuzzTargets", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "MailTests", dependencies: ["Mail", "SMTPServer", "EmulatorCore", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "EmulatorCoreTests",
            dependencies: ["EmulatorCore", "JOSE", "Platform", "PostgreSQL", "SQLite", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "AppleTests", dependencies: ["Apple", "TestSupport"], exclude: ["Fixtures"], swiftSettings: strict),
        .testTarget(name: "OAuthTests", dependencies: ["OAuth", "TestSupport"], swiftSettings: strict),
        .testTarget(name: "GitHubTests", dependencies: ["GitHub", "TestSupport"], swiftSettings: strict),
        .testTarget(name: "GoogleTests", dependencies: ["Google", "TestSupport"], swiftSettings: strict),
        .testTarget(name: "FacebookTests", dependencies: ["Facebook", "TestSupport"], swiftSettings: strict),
        .testTarget(name: "MicrosoftTests", dependencies: ["Microsoft", "TestSupport"], swiftSettings: strict),
        .testTarget(name: "OpenIDTests", dependencies: ["OpenID", "TestSupport"], swiftSettings: strict),
        .testTarget(name: "FirebaseTests", dependencies: ["Firebase", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "ControlTests", dependencies: ["Control", "EmulatorCore", "Platform", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "InspectorTests", dependencies: ["Inspector", "Control", "EmulatorCore", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "UnderstudyTests", dependencies: ["SQLite", "Understudy", "TestSupport"], swiftSettings: strict),
        .testTarget(name: "AssistantsTests", dependencies: ["Assistants", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "CommandLineToolTests", dependencies: ["CommandLineTool", "TestSupport"], swiftSettings: strict),
    ]
        + (fuzzes
            ? [
                .executableTarget(
                    name: "FuzzRunner", dependencies: ["FuzzTargets"], path: "Tests/Fuzz/Runner", swiftSettings: strict)
            ] : [])
)
