// swift-tools-version: 6.1
import PackageDescription

let strict: [SwiftSetting] = [.swiftLanguageMode(.v6), .enableUpcomingFeature("ExistentialAny")]

let package = Package(
    name: "understudy",
    dependencies: [
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2")
    ],
    targets: [
        .systemLibrary(name: "COpenSSL", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CMicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
        .target(name: "JOSE", dependencies: ["COpenSSL"], swiftSettings: strict),
        .target(name: "HTTPServer", dependencies: ["CMicrohttpd"], swiftSettings: strict),
        .target(name: "Courier", dependencies: ["COpenSSL"], swiftSettings: strict),
        .target(
            name: "Stage",
            dependencies: ["HTTPServer", "JOSE", "Courier", .product(name: "Logging", package: "swift-log")],
            swiftSettings: strict),
        .target(name: "OAuth", dependencies: ["Stage"], swiftSettings: strict),
        .target(name: "Apple", dependencies: ["OAuth"], swiftSettings: strict),
    ]
)
