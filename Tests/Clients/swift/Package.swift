// swift-tools-version: 6.3
import PackageDescription

let package = Package(
    name: "swift-client",
    platforms: [.macOS(.v15)],
    dependencies: [.package(url: "https://github.com/vapor/jwt-kit", from: "5.7.1")],
    targets: [
        .executableTarget(name: "SwiftClient", dependencies: [.product(name: "JWTKit", package: "jwt-kit")])
    ]
)
