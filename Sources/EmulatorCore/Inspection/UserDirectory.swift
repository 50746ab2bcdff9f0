import JSON
import Time

/// The users of an app, who are no people of the world: they came into being when somebody signed in to the app, and have
/// properties of their own.
package protocol UserDirectory: Sendable {
    var summary: UserDirectorySummary { get }
    /// What can be said of a user when one is made or changed.
    var fields: Schema { get }
    /// The field that says a user's ID, which stays as it is.
    var keyField: String { get }

    /// Directories within it, such as those of tenants. `after` is the cursor of an earlier page.
    func parts(after cursor: String?, limit: Int) -> UserDirectoryPage
    /// At most `limit` users whose ID, address or phone number begins with `search`. `after` is the cursor of an earlier page.
    func users(search: String, after cursor: String?, limit: Int) -> UserPage
    func user(_ id: String) -> InspectedUser?
    /// Makes a user, and returns the ID.
    func add(_ user: JSONObject) async throws -> String
    /// Changes what the patch names; `null` takes something away.
    func change(_ id: String, _ patch: JSONObject) async throws
    func delete(_ id: String) async throws
}

/// What a list says of a directory.
package struct UserDirectorySummary: Sendable {
    /// As addresses have it: it begins with the provider's name and a colon.
    package let id: String
    package let title: String
    /// Such as "Firebase project".
    package let kind: String
    package let users: Int
    /// The directory of which it is a part.
    package let whole: String?

    package init(id: String, title: String, kind: String, users: Int, within whole: String? = nil) {
        self.id = id
        self.title = title
        self.kind = kind
        self.users = users
        self.whole = whole
    }
}

/// Some directories.
package struct UserDirectoryPage: Sendable {
    package var directories: [UserDirectorySummary]
    /// Where the next page begins; `nil` when there is none.
    package var next: String?

    package init(_ directories: [UserDirectorySummary] = [], next: String? = nil) {
        self.directories = directories
        self.next = next
    }
}

/// Some users of a directory.
package struct UserPage: Sendable {
    package let users: [InspectedUser.Line]
    /// Where the next page begins; `nil` when there is none.
    package let next: String?

    package init(_ users: [InspectedUser.Line], next: String?) {
        self.users = users
        self.next = next
    }
}

/// A user of an app, for people who look.
package struct InspectedUser: Sendable {
    /// What a list says of a user.
    package struct Line: Sendable {
        package let id: String
        /// A name, or an address where there is none.
        package let title: String
        package let email: String?
        package let isEmailVerified: Bool
        package let phoneNumber: String?
        package let isDisabled: Bool
        /// Ways to sign in, as the provider calls them.
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
    /// What the fields of the directory hold now.
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
