// swift-tools-version: 6.3
import PackageDescription

let package = Package(
    name: "shop",
    dependencies: [.package(name: "understudy", path: "../../..")],
    targets: [
        .target(name: "Shop"),
        .testTarget(
            name: "ShopTests",
            dependencies: [
                "Shop", .product(name: "UnderstudyClient", package: "understudy"),
                .product(name: "UnderstudyInProcess", package: "understudy"),
                .product(name: "UnderstudyTesting", package: "understudy"),
            ]),
    ])
