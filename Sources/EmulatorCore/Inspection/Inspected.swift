import JSON
import Time

// What a provider has to show of a person or a user, for the pages on which people look at a world. A provider describes
// itself in its own words; the pages know none of them.

/// Something that belongs together under a heading: profiles, apps with access, browsers that are signed in.
package struct InspectedSection: Sendable {
    package let title: String
    /// A sentence about it, or where there are no items.
    package let about: String?
    package let items: [InspectedItem]
    /// How many more there are, older than those that are listed.
    package let more: Int

    package init(_ title: String, about: String? = nil, _ items: [InspectedItem], more: Int = 0) {
        self.title = title
        self.about = about
        self.items = items
        self.more = max(0, more)
    }

    /// How many items of a section, and tokens of an item, are listed.
    package static let limit = 20
}

/// One thing of a section, such as an app that a person has let in.
package struct InspectedItem: Sendable {
    package enum Mark: String, Sendable {
        case plain = ""
        case good
        case bad
        case warn
        case info
    }

    package let title: String
    /// What kind of thing it is, in a few words.
    package let kind: String?
    package var marks: [(text: String, mark: Mark)] = []
    package var facts: [InspectedFact] = []
    /// What an app may do.
    package var scopes: [String] = []
    package var documents: [InspectedDocument] = []
    package var tokens: [InspectedToken] = []
    /// How many more tokens there are, older than those that are listed.
    package var moreTokens = 0
    package var actions: [InspectedAction] = []

    package init(_ title: String, kind: String? = nil) {
        self.title = title
        self.kind = kind
    }
}

/// A property, with its name in words or as the provider's documents call it.
package struct InspectedFact: Sendable {
    package enum Value: Sendable {
        case text(String)
        /// An identifier, to be copied.
        case code(String)
        case codes([String])
        case time(Instant)
        /// What a provider calls a person.
        case subject(String)
    }

    package let label: String
    package let value: Value

    package init(_ label: String, _ value: Value) {
        self.label = label
        self.value = value
    }

    package init(_ label: String, _ text: String) { self.init(label, .text(text)) }

    package init(_ label: String, _ flag: Bool) { self.init(label, .text(flag ? "yes" : "no")) }
}

/// A document as an app gets it.
package struct InspectedDocument: Sendable {
    /// Such as `GET /user`.
    package let title: String
    package let value: JSONValue

    package init(_ title: String, _ value: JSONValue) {
        self.title = title
        self.value = value
    }
}

/// A token that a client holds. It can be ended by itself: `Provider.endToken`.
package struct InspectedToken: Sendable {
    /// Such as "access token".
    package let kind: String
    /// The token itself.
    package let text: String
    package let scopes: [String]
    /// `nil` when it lasts until it is revoked.
    package let expires: Instant?
    /// Whether it works now.
    package let works: Bool

    package init(_ kind: String, _ text: String, scopes: [String], expires: Instant?, works: Bool) {
        self.kind = kind
        self.text = text
        self.scopes = scopes
        self.expires = expires
        self.works = works
    }
}

/// Something that a page offers as a button.
package struct InspectedAction: Sendable {
    package enum Work: Sendable {
        /// A call of the control API, such as `apple/notifications`.
        case call(String, path: String, JSONValue?)
        /// What no call of the control API does. It returns what is to be said of it.
        case work(@Sendable () async throws -> String)
    }

    /// Tells it from all others of the page.
    package let key: String
    package let label: String
    /// Whether it takes something away.
    package let isDestructive: Bool
    package let work: Work

    /// `key` tells it from the other actions of the same provider and page.
    package init(
        _ key: String, _ label: String, isDestructive: Bool = false,
        _ work: @escaping @Sendable () async throws -> String
    ) {
        self.key = key
        self.label = label
        self.isDestructive = isDestructive
        self.work = .work(work)
    }

    package init(
        _ label: String, isDestructive: Bool = false, calling method: String, _ path: String, _ body: JSONValue? = nil
    ) {
        key = "\(method) \(path) \(body?.text ?? "")"
        self.label = label
        self.isDestructive = isDestructive
        work = .call(method, path: path, body)
    }
}

/// Why what a page asked for wasn't done.
package struct InspectedRefusal: Error, Sendable {
    package let status: Int
    /// In a sentence.
    package let message: String
    /// The field that it is about, as `$.email`.
    package let path: String?

    package init(_ status: Int, _ message: String, path: String? = nil) {
        self.status = status
        self.message = message
        self.path = path
    }
}
