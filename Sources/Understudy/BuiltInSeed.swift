import EmulatorCore

/// `seed-data/default.json` and the keys it names, embedded so that the binary runs with nothing beside it.
enum BuiltInSeed {
    static var source: SeedSource {
        // A test checks the file that this is.
        SeedSource(name: "built-in default.json", bytes: PackageResources.default_json, isChecked: true) { name in
            guard let bytes = files[name] else { throw Missing() }
            return bytes
        }
    }

    private struct Missing: Error {}

    private static let files: [String: [UInt8]] = [
        "keys/AuthKey_ABC123DEFG.pub.pem": PackageResources.AuthKey_ABC123DEFG_pub_pem,
        "keys/AuthKey_ABC123DEFG.p8": PackageResources.AuthKey_ABC123DEFG_p8,
        "keys/AuthKey_ZYX987WVUT.pub.pem": PackageResources.AuthKey_ZYX987WVUT_pub_pem,
        "keys/apple-signing-1.pem": PackageResources.apple_signing_1_pem,
        "keys/apple-signing-2.pem": PackageResources.apple_signing_2_pem,
        "keys/apple-signing-3.pem": PackageResources.apple_signing_3_pem,
        "keys/google-signing-1.pem": PackageResources.google_signing_1_pem,
        "keys/facebook-signing-1.pem": PackageResources.facebook_signing_1_pem,
        "keys/firebase-signing-1.pem": PackageResources.firebase_signing_1_pem,
    ]
}
