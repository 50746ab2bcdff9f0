import FoundationEssentials
import JOSE
import JSON

/// A person who can sign in.
package struct Account: Codable, Sendable, Equatable {
    package struct Name: Codable, Sendable, Equatable {
        package var given: String
        package var family: String

        package init(given: String, family: String) {
            self.given = given
            self.family = family
        }
    }

    package struct AppleProfile: Codable, Sendable, Equatable {
        package var shareEmail: Bool
        package var realUserStatus: RealUserStatus
    }

    package enum RealUserStatus: String, Codable, Sendable {
        case unsupported
        case unknown
        case likelyReal
    }

    package struct GitHubProfile: Codable, Sendable, Equatable {
        package struct Email: Codable, Sendable, Equatable {
            package var email: String
            package var primary: Bool
            package var verified: Bool
            package var visibility: String?

            package init(email: String, primary: Bool, verified: Bool, visibility: String?) {
                self.email = email
                self.primary = primary
                self.verified = verified
                self.visibility = visibility
            }
        }

        package var login: String
        package var id: Int
        package var twoFactorAuthentication: Bool
        package var emails: [Email]
        package var orgs: [String]
        package var name: String?
        package var company: String?
        package var blog: String?
        package var location: String?
        package var bio: String?
        package var hireable: Bool?
        package var twitterUsername: String?
        package var siteAdmin: Bool
        package var followers: Int
        package var following: Int
        package var publicRepos: Int
        package var privateRepos: Int
        package var publicGists: Int
        package var privateGists: Int
        package var plan: String
        package var createdAt: String
        package var updatedAt: String

        package var primaryEmail: Email? { emails.first { $0.primary } ?? emails.first }
    }

    package struct GoogleProfile: Codable, Sendable, Equatable {
        package var sub: String
        package var hostedDomain: String?
    }

    package struct FacebookProfile: Codable, Sendable, Equatable {
        package var id: String
    }

    package let id: String
    package var name: Name
    package var email: String
    package var emailVerified: Bool
    package var phoneNumber: String?
    package var apple: AppleProfile
    package var github: GitHubProfile
    package var google: GoogleProfile
    package var facebook: FacebookProfile

    package var fullName: String {
        [name.given, name.family].filter { !$0.isEmpty }.joined(separator: " ")
    }
}

extension Account {
    /// Reads an account as a seed file writes it, for the control API. Throws every fault.
    package init(_ value: JSONValue) throws(SeedFaults) {
        let faults = Shape.account.faults(in: SeedNode(value, file: "body"))
        guard faults.isEmpty else { throw SeedFaults(faults: faults) }
        let complete = Shape.account.completed(Account.withDerivedDefaults(value))
        do { self = try Seed.decode(Account.self, complete) } catch {
            throw SeedFaults(faults: [SeedFault(file: "body", path: "$", message: "not an account: \(error)")])
        }
    }

    /// As a seed file would write it, with every default.
    package var json: JSONValue {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let data = (try? encoder.encode(self)) ?? Data("null".utf8)
        return (try? JSONValue(parsing: Array(data), limits: .answer)) ?? .null
    }

    /// Defaults that follow from the id: names, addresses and the providers' own numbers, the same in every run.
    static func withDerivedDefaults(_ value: JSONValue) -> JSONValue {
        guard case .object(var account) = value, let id = account["id"]?.string else { return value }
        func fill(_ object: inout JSONObject, _ key: String, _ fallback: @autoclosure () -> JSONValue) {
            if object[key] == nil { object[key] = fallback() }
        }
        func nested(_ key: String, _ change: (inout JSONObject) -> Void) {
            var object = account[key]?.object ?? JSONObject()
            change(&object)
            account[key] = .object(object)
        }
        fill(&account, "email", .string("\(id)@example.com"))
        let email = account["email"] ?? .null
        let verified = account["emailVerified"] ?? true
        nested("name") { fill(&$0, "given", .string(id.prefix(1).uppercased() + id.dropFirst())) }
        let name = account["name"]?.object
        let fullName = [name?["given"]?.string ?? "", name?["family"]?.string ?? "Example"].filter { !$0.isEmpty }
        nested("github") {
            fill(&$0, "login", .string(id))
            fill(&$0, "name", .string(fullName.joined(separator: " ")))
            fill(&$0, "id", .integer(Int64(number(from: "github:\(id)") % 100_000_000 + 1_000)))
            fill(
                &$0, "emails", [["email": email, "primary": true, "verified": verified, "visibility": "private"]])
        }
        nested("google") { fill(&$0, "sub", .string("1\(pad(number(from: "google:\(id)"), to: 20))")) }
        nested("facebook") { fill(&$0, "id", .string("1015\(pad(number(from: "facebook:\(id)"), to: 13))")) }
        return .object(account)
    }

    private static func number(from text: String) -> UInt64 {
        Digest.sha256(text).prefix(7).reduce(0) { $0 << 8 | UInt64($1) }
    }

    private static func pad(_ number: UInt64, to width: Int) -> String {
        let digits = String(number)
        return String((String(repeating: "0", count: max(0, width - digits.count)) + digits).suffix(width))
    }
}
