/// A revision of the protocol, in the order of their dates: <https://modelcontextprotocol.io/docs/learn/versioning>.
enum Revision: String, CaseIterable, Comparable, Sendable {
    case november2024 = "2024-11-05"
    case march2025 = "2025-03-26"
    case june2025 = "2025-06-18"
    case november2025 = "2025-11-25"
    case july2026 = "2026-07-28"

    /// The last revision that begins with `initialize`.
    static let lastWithHandshake = november2025

    static func < (left: Revision, right: Revision) -> Bool { left.rawValue < right.rawValue }

    /// Whether each request has its revision in it, and there is no `initialize`:
    /// <https://modelcontextprotocol.io/specification/2026-07-28/changelog>.
    var isStateless: Bool { self >= .july2026 }

    /// Whether several messages may be sent in an array, which a single revision allows:
    /// <https://modelcontextprotocol.io/specification/2025-03-26/basic#batching>.
    var hasBatches: Bool { self == .march2025 }

    /// Whether tools describe their effect on the world:
    /// <https://modelcontextprotocol.io/specification/2025-03-26/changelog>.
    var hasAnnotations: Bool { self >= .march2025 }

    /// Whether names have titles, and answers have JSON beside their text:
    /// <https://modelcontextprotocol.io/specification/2025-06-18/changelog>.
    var hasTitlesAndStructure: Bool { self >= .june2025 }

    /// Whether a server describes itself: <https://modelcontextprotocol.io/specification/2025-11-25/changelog>.
    var hasServerDescription: Bool { self >= .november2025 }

    /// The error code for a resource that doesn't exist:
    /// <https://modelcontextprotocol.io/specification/2026-07-28/changelog>.
    var missingResourceCode: Int64 { isStateless ? -32602 : -32002 }
}
