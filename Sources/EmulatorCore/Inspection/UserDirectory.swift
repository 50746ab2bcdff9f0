import JSON
import Time

/// The users of an app, who aren't people of the world: they were made when somebody signed in to the app, and have
/// properties of their own.
package protocol UserDirectory: Sendable {
    var summary: UserDirectorySummary { get }
    /// The fields with which a user can be made or changed.
    var fields: Schema { get }
    /// The name of the field with a user's ID, which can't be changed.
    var keyField: String { get }

    /// Returns the directories within this directory, such as those of tenants. `after` is the cursor of an earlier
    /// page.
    func parts(after cursor: String?, limit: Int) -> UserDirectoryPage
    /// Returns at most `limit` users whose ID, address or phone number begins with `search`. `after` is the cursor of
    /// an earlier page.
    func users(search: String, after cursor: String?, limit: Int) -> UserPage
    func user(_ id: String) -> InspectedUser?
    /// Makes a user, and returns the ID.
    func add(_ user: JSONObject) async throws -> String
    /// Changes the fields of the patch; `null` removes one.
    func change(_ id: String, _ patch: JSONObject) async throws
    func delete(_ id: String) async throws
}

/// A directory in a list.
package struct UserDirectorySummary: Sendable {
    /// The directory's ID, as in addresses: it begins with the provider's name and a colon.
    package let id: String
    package let title: String
    /// The kind of directory, such as "Firebase project".
    package let kind: String
    package let users: Int
    /// The ID of the directory of which this one is a part.
    package let whole: String?

    package init(id: String, title: String, kind: String, users: Int, within whole: String? = nil) {
        self.id = id
        self.title = title
        self.kind = kind
        self.users = users
        self.whole = whole
    }
}

/// A page of a list of directories.
package struct UserDirectoryPage: Sendable {
    package var directories: [UserDirectorySummary]
    /// The cursor of the next page; `nil` when there is none.
    package var next: String?

    package init(_ directories: [UserDirectorySummary] = [], next: String? = nil) {
        self.directories = directories
        self.next = next
    }
}

/// A page of a directory's users.
package struct UserPage: Sendable {
    package let users: [InspectedUser.Line]
    /// The cursor of the next page; `nil` when there is none.
    package let next: String?

    package init(_ users: [InspectedUser.Line], next: String?) {
        self.users = users
        self.next = next
    }
}

/// A user of an app, for the inspector.
package struct InspectedUser: Sendable {
    /// A user in a list.
    package struct Line: Sendable {
        package let id: String
        /// A name, or an address if there is none.
        package let title: String
        package let email: String?
        package let isEmailVerified: Bool
        package let phoneNumber: String?
        package let isDisabled: Bool
        /// The ways in which the user can sign in, by the provider's names.
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
    /// The present values of the directory's fields.
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
