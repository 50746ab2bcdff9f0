import EmulatorCore
import OAuth

/// A scope of GitHub's OAuth apps, such as `read:user`.
struct GitHubScope: Hashable, Sendable {
    static let user = GitHubScope("user")
    static let readUser = GitHubScope("read:user")
    static let userEmail = GitHubScope("user:email")
    static let repo = GitHubScope("repo")
    static let adminOrg = GitHubScope("admin:org")
    static let readOrg = GitHubScope("read:org")
    static let writeOrg = GitHubScope("write:org")

    /// The scopes that GitHub has. For each scope, the table has the scopes directly included in it and the description
    /// on the consent page.
    private static let table = Dictionary(
        uniqueKeysWithValues: TextTable.rows(Texts.scopes).map { row in
            (row[0], (children: row[1].split(separator: " ").map { GitHubScope(String($0)) }, about: row[2]))
        })

    /// All of GitHub's scopes, sorted by name.
    static let all = table.keys.sorted().map { GitHubScope($0) }

    let name: String

    private init(_ name: String) { self.name = name }

    /// Returns the GitHub scope with this name; `nil` if GitHub has no such scope.
    static func named(_ name: String) -> GitHubScope? { table[name].map { _ in GitHubScope(name) } }

    /// The GitHub scopes directly included in this scope.
    var children: [GitHubScope] { GitHubScope.table[name]?.children ?? [] }

    /// The description of the GitHub scope on the consent page.
    var about: String { GitHubScope.table[name]?.about ?? name }
}

/// A set of scopes as GitHub keeps it: a scope that a larger scope in the set includes is dropped.
struct GitHubScopes: Hashable, Sendable {
    private let bits: UInt64

    static let none = GitHubScopes(normalizing: 0)

    private init(normalizing bits: UInt64) {
        var kept = bits
        for place in Places(bits) { kept &= ~GitHubScopes.below[place] }
        self.bits = kept
    }

    init(_ scopes: some Sequence<GitHubScope>) {
        self.init(normalizing: scopes.reduce(0) { $0 | GitHubScopes.bit(of: $1) })
    }

    /// Reads the names of GitHub scopes, separated by spaces or commas. Unknown names are dropped.
    init(_ text: String) {
        let names = text.utf8.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: ",") }
        self.init(names: names.map { String(Substring($0)) })
    }

    init(names: [String]) { self.init(names.compactMap(GitHubScope.named)) }

    /// The GitHub scopes in the set, sorted by name.
    var scopes: [GitHubScope] { Places(bits).map { GitHubScope.all[$0] } }

    var names: [String] { Places(bits).map { GitHubScopes.names[$0] } }

    var isEmpty: Bool { bits == 0 }

    func joined(by separator: String) -> String {
        var text = ""
        for place in Places(bits) {
            if !text.isEmpty { text += separator }
            text += GitHubScopes.names[place]
        }
        return text
    }

    func union(_ other: GitHubScopes) -> GitHubScopes { GitHubScopes(normalizing: bits | other.bits) }

    /// Returns the GitHub scopes that both sets include.
    func intersection(_ other: GitHubScopes) -> GitHubScopes {
        GitHubScopes(normalizing: effective & other.effective)
    }

    /// Whether this set of GitHub scopes includes all scopes of `other`.
    func covers(_ other: GitHubScopes) -> Bool { other.bits & ~effective == 0 }

    /// Whether the set includes at least one of `scopes`, by its own name or as part of a larger scope.
    func allows(anyOf scopes: [GitHubScope]) -> Bool {
        scopes.contains { effective & GitHubScopes.bit(of: $0) != 0 }
    }

    private var effective: UInt64 { Places(bits).reduce(bits) { $0 | GitHubScopes.below[$1] } }

    // MARK: - Bits

    /// The positions of the bits that are set in a 64-bit integer, from the lowest.
    private struct Places: Sequence, IteratorProtocol {
        private var rest: UInt64

        init(_ bits: UInt64) { rest = bits }

        mutating func next() -> Int? {
            guard rest != 0 else { return nil }
            defer { rest &= rest - 1 }
            return rest.trailingZeroBitCount
        }
    }

    private static let names = GitHubScope.all.map(\.name)
    private static let numbers = Dictionary(uniqueKeysWithValues: GitHubScope.all.enumerated().map { ($1, $0) })
    /// For each GitHub scope, the set of all scopes that it includes.
    private static let below: [UInt64] = GitHubScope.all.map { below($0) }

    private static func bit(of scope: GitHubScope) -> UInt64 { 1 << UInt64(numbers[scope] ?? 63) }

    private static func below(_ scope: GitHubScope) -> UInt64 {
        scope.children.reduce(0) { $0 | bit(of: $1) | below($1) }
    }
}

/// A set of GitHub scopes is encoded as the list of the scopes' names.
extension GitHubScopes: Codable {
    init(from decoder: any Decoder) throws {
        self.init(names: try decoder.singleValueContainer().decode([String].self))
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(names)
    }
}
