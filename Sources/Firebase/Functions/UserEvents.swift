import EmulatorCore
import JSON
import OAuth

// The events of Cloud Functions about users: https://firebase.google.com/docs/functions/auth-events
//
// They are posted to the Emulator Suite's Functions emulator, as its Authentication emulator does
// (https://github.com/firebase/firebase-tools, src/emulator/auth/cloudFunctions.ts), and to addresses of the seed.
//
// Quirks: production has no event for a user who came by a custom token, nor for a deletion of several users at once;
// the official emulator has one for each. Imports, and the deletion of all users, have none.

/// The addresses that learn about new and deleted users of a project.
struct UserEvents: SchemaObject {
    enum Kind: String, CaseIterable {
        case create
        case delete
    }

    private let urls: [Kind: String]
    /// The Functions emulator's host and port.
    var emulator: String?

    static let none = UserEvents(urls: [:])

    private init(urls: [Kind: String]) { self.urls = urls }

    init(_ fields: inout Fields) {
        var urls: [Kind: String] = [:]
        urls[.create] = fields.optional("onCreate", .text(.url), "Where the event of a new user is posted.")
        urls[.delete] = fields.optional("onDelete", .text(.url), "Where the event of a deleted user is posted.")
        self.urls = urls
    }

    /// Returns the addresses for an event of the project.
    func addresses(_ kind: Kind, of project: String) -> [String] {
        [emulator.map { "http://\($0)/functions/projects/\(project)/trigger_multicast" }, urls[kind]].compactMap { $0 }
    }

    /// Refuses addresses at other machines, unless `blockingFunctions` allows the host.
    static func check(_ project: LocatedJSON, _ references: inout SeedReferences) {
        for kind in Kind.allCases {
            guard let json = project["userEvents"]?["on\(kind.rawValue.capitalized)"] else { continue }
            BlockingFunctions.check(json, hosts: project["blockingFunctions"], &references)
        }
    }
}

extension FirebaseCall {
    /// Posts an event about a user. Nothing waits for the function.
    func tell(_ kind: UserEvents.Kind, _ user: User) {
        for url in project.userEvents.addresses(kind, of: project.id) {
            let body: JSONValue = [
                "eventType": .string("providers/firebase.auth/eventTypes/user.\(kind.rawValue)"),
                "data": .object(FirebaseCall.eventData(user)),
            ]
            exchange.send(
                OutgoingMessage(to: url, contentType: "application/json", body: Array(body.text.utf8)))
        }
    }

    private static func eventData(_ user: User) -> JSONObject {
        var data = JSONObject([("uid", .string(user.localId))])
        data["email"] = user.email.map { .string($0) }
        data["emailVerified"] = .bool(user.emailVerified)
        data["displayName"] = user.displayName.map { .string($0) }
        data["photoURL"] = user.photoUrl.map { .string($0) }
        data["phoneNumber"] = user.phoneNumber.map { .string($0) }
        data["disabled"] = .bool(user.disabled)
        var metadata = JSONObject([("creationTime", .string(String(user.createdAt.milliseconds)))])
        metadata["lastSignInTime"] = user.lastLoginAt.map { .string(String($0.milliseconds)) }
        data["metadata"] = .object(metadata)
        data["customClaims"] = .object(user.customClaims.object)
        data["providerData"] = .array(user.providerUserInfo)
        data["tenantId"] = user.pool.tenant.map { .string($0) }
        return data
    }
}
