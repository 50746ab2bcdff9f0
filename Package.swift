// swift-tools-version: 6.1
import PackageDescription

let strict: [SwiftSetting] = [.swiftLanguageMode(.v6), .enableUpcomingFeature("ExistentialAny")]

let package = Package(
    name: "understudy",
    targets: [
        .systemLibrary(name: "COpenSSL", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CMicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
        .target(name: "JOSE", dependencies: ["COpenSSL"], swiftSettings: strict),
        .target(name: "HTTPServer", dependencies: ["CMicrohttpd"], swiftSettings: strict),
    ]
)
