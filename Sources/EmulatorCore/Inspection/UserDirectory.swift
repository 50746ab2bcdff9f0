import JSON
import Time

/// A directory of an app's own users, as Firebase has one. Such a user is made by a sign-in, by an administrator or
/// from the seed (initial data), and has properties of its own, unlike the people who can sign in at every provider.
package protocol UserDirectory: Sendable {
    var summary: UserDirectorySummary { get }
    /// The schema of the fields that can be set when one of the app's users is made or changed.
    var fields: Schema { get }
    /// The name of the field that holds a user's ID. The ID can't be changed.
    var keyField: String { get }

    /// Returns at most `limit` directories that are parts of this user directory, such as those of tenants. `after` is
    /// the cursor that came with the previous page of the list.
    func parts(after cursor: String?, limit: Int) -> UserDirectoryPage
    /// Returns at most `limit` users whose ID, e-mail address or phone number begins with `search`. `after` is the
    /// cursor that came with the previous page of the list.
    func users(search: String, after cursor: String?, limit: Int) -> UserPage
    func user(_ id: String) -> InspectedUser?
    /// Adds a user to an app's user directory, such as a Firebase project's, and returns the new user's ID.
    func add(_ user: JSONObject) async throws -> String
    /// Changes the user with this ID. `patch` has the new values of the user's fields; the value `null` removes a
    /// field.
    func change(_ id: String, _ patch: JSONObject) async throws
    func delete(_ id: String) async throws
}

/// The data about a user directory (an app's own users, such as a Firebase project's) that a list of user directories
/// shows.
package struct UserDirectorySummary: Sendable {
    /// The ID of a user directory, as in the addresses of the inspector's pages. It begins with the provider's name and
    /// a colon.
    package let id: String
    package let title: String
    /// The kind of user directory, such as "Firebase project".
    package let kind: String
    package let users: Int
    /// The ID of the user directory to which this one belongs, as a Firebase tenant's users belong to a project's.
    /// `nil` for a directory that belongs to no other.
    package let whole: String?

    package init(id: String, title: String, kind: String, users: Int, within whole: String? = nil) {
        self.id = id
        self.title = title
        self.kind = kind
        self.users = users
        self.whole = whole
    }
}

package struct UserDirectoryPage: Sendable {
    package var directories: [UserDirectorySummary]
    /// The cursor with which the next page of the list is requested; `nil` on the last page.
    package var next: String?

    package init(_ directories: [UserDirectorySummary] = [], next: String? = nil) {
        self.directories = directories
        self.next = next
    }
}

package struct UserPage: Sendable {
    package let users: [InspectedUser.Line]
    /// The cursor with which the next page of the list is requested; `nil` on the last page.
    package let next: String?

    package init(_ users: [InspectedUser.Line], next: String?) {
        self.users = users
        self.next = next
    }
}

/// A user of an app, with what the inspector shows about the user.
package struct InspectedUser: Sendable {
    /// A user of an app, as the user is shown in a list of users.
    package struct Line: Sendable {
        package let id: String
        /// The user's name; the e-mail address, the phone number or the ID if there is no name.
        package let title: String
        package let email: String?
        package let isEmailVerified: Bool
        package let phoneNumber: String?
        package let isDisabled: Bool
        /// The methods by which the user can sign in, by their names at the provider, such as `password`.
        package let methods: [String]
        package let lastSignIn: Instant?

        package init(
            id: String, title: String, email: String?, isEmailVerified: Bool, phoneNumber: String?, isDisabled: Bool,
            methods: [String], lastSignIn: Instant?
        ) {
            self.id = id
            self.title = title
            self.email = email
            self.isEmailVerified = isEmailVerified
            self.phoneNumber = phoneNumber
            self.isDisabled = isDisabled
            self.methods = methods
            self.lastSignIn = lastSignIn
        }
    }

    package let line: Line
    package let facts: [InspectedFact]
    package let sections: [InspectedSection]
    /// The user's values of the fields that can be set (`UserDirectory.fields`).
    package let values: JSONObject
    package let actions: [InspectedAction]

    package init(
        _ line: Line, facts: [InspectedFact], sections: [InspectedSection], values: JSONObject,
        actions: [InspectedAction]
    ) {
        self.line = line
        self.facts = facts
        self.sections = sections
        self.values = values
        self.actions = actions
    }
}
