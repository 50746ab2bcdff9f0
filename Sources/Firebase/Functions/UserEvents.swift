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

/// The URLs to which events about a project's new and deleted users are posted.
struct UserEvents: SchemaObject {
    enum Kind: String, CaseIterable {
        case create
        case delete
    }

    private let urls: [Kind: String]
    /// The host and port of the Functions emulator in Firebase's Emulator Suite; `nil` without this emulator. Events
    /// about new and deleted users are posted to the emulator, and also to the URLs in the seed.
    var emulator: String?

    init(_ fields: inout Fields) {
        var urls: [Kind: String] = [:]
        urls[.create] = fields.optional("onCreate", .text(.url), "The URL to which the event of a new user is posted.")
        urls[.delete] = fields.optional(
            "onDelete", .text(.url), "The URL to which the event of a deleted user is posted.")
        self.urls = urls
    }

    /// Returns the URLs to which an event of this kind is posted for a project.
    func addresses(_ kind: Kind, of project: String) -> [String] {
        [emulator.map { "http://\($0)/functions/projects/\(project)/trigger_multicast" }, urls[kind]].compactMap { $0 }
    }

    /// Checks that the URLs for user events in the seed are on this machine, or at hosts that `blockingFunctions`
    /// allows.
    static func check(_ project: LocatedJSON, _ references: inout SeedReferences) {
        for kind in Kind.allCases {
            guard let json = project["userEvents"]?["on\(kind.rawValue.capitalized)"] else { continue }
            BlockingFunctions.check(json, hosts: project["blockingFunctions"], &references)
        }
    }
}

extension FirebaseCall {
    /// Posts an event about a new or deleted user to the project's functions, without waiting for their answers.
    func postEvent(_ kind: UserEvents.Kind, about user: User) {
        for url in project.userEvents.addresses(kind, of: project.id) {
            let body = JSONValue.document([
                "eventType": "providers/firebase.auth/eventTypes/user.\(kind.rawValue)",
                "data": FirebaseCall.eventData(user),
            ])
            exchange.send(OutgoingMessage(to: url, contentType: "application/json", body: Array(body.text.utf8)))
        }
    }

    private static func eventData(_ user: User) -> JSONObject {
        JSONObject([
            "uid": user.localId, "email": user.email, "emailVerified": user.emailVerified,
            "displayName": user.displayName, "photoURL": user.photoUrl, "phoneNumber": user.phoneNumber,
            "disabled": user.disabled,
            "metadata": JSONObject([
                "creationTime": String(user.createdAt.milliseconds),
                "lastSignInTime": user.lastLoginAt.map { String($0.milliseconds) },
            ]), "customClaims": user.customClaims.object, "providerData": user.providerUserInfo,
            "tenantId": user.pool.tenant,
        ])
    }
}
