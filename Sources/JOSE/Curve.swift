/// The elliptic curves of ECDSA, as a JSON Web Key's `crv` names them: <https://datatracker.ietf.org/doc/html/rfc7518#section-6.2.1.1>.
enum Curve: String, CaseIterable {
    case p256 = "P-256"
    case p384 = "P-384"
    case p521 = "P-521"

    /// Finds a curve by its name in OpenSSL.
    init?(group: String) {
        guard let curve = Curve.allCases.first(where: { $0.group == group }) else { return nil }
        self = curve
    }

    var group: String {
        switch self {
        case .p256: "prime256v1"
        case .p384: "secp384r1"
        case .p521: "secp521r1"
        }
    }

    var kind: Key.Kind {
        switch self {
        case .p256: .p256
        case .p384: .p384
        case .p521: .p521
        }
    }

    /// The bytes of a coordinate, and of each of the two numbers in a signature.
    var width: Int {
        switch self {
        case .p256: 32
        case .p384: 48
        case .p521: 66
        }
    }
}
