import JSON
import Time
import Worlds
import Text

// The data about a person or a user that a provider has for the inspector's pages. A provider describes itself in its
// own words; the pages know none of them.

/// A section of an inspector page, under a heading, such as a person's profiles, the apps with access, or the signed-in
/// browsers.
package struct InspectedSection: Sendable {
    package let title: String
    /// A sentence about a section of an inspector page. A sentence of at most 60 characters is shown only if the
    /// section has no items, because so short a sentence is taken to say that the section is empty.
    package let about: String?
    package let items: [InspectedItem]
    /// The number of a section's older items that the inspector page leaves out.
    package let more: Int

    package init(_ title: String, about: String? = nil, _ items: [InspectedItem], more: Int = 0) {
        self.title = title
        self.about = about
        self.items = items
        self.more = max(0, more)
    }

    /// The largest number of items that an inspector page lists in a section. The same limit applies to the tokens of
    /// an item.
    package static let limit = 20
}

/// An item in a section of an inspector page, such as an app to which a person has given access.
package struct InspectedItem: Sendable {
    package enum Mark: String, Sendable {
        case plain = ""
        case good
        case bad
        case warn
        case info
    }

    package let title: String
    /// The kind of an item on an inspector page, such as "passkey" or "session".
    package let kind: String?
    package var marks: [(text: String, mark: Mark)] = []
    package var facts: [InspectedFact] = []
    /// The OAuth scopes that an app has, shown on an inspector page.
    package var scopes: [String] = []
    package var documents: [InspectedDocument] = []
    package var tokens: [InspectedToken] = []
    /// The number of older tokens, for example of an app, that the inspector page leaves out.
    package var moreTokens = 0
    package var actions: [InspectedAction] = []

    package init(_ title: String, kind: String? = nil) {
        self.title = title
        self.kind = kind
    }
}

/// A property of an item on an inspector page. The property's name is in plain words, or is the provider's own name for
/// it.
package struct InspectedFact: Sendable {
    package enum Value: Sendable {
        case text(String)
        /// A text, such as an identifier, that the inspector page shows in a code font.
        case code(String)
        case codes([String])
        case time(Instant)
        /// A provider's identifier of a person, shown on an inspector page.
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

/// A JSON document on an inspector page, in the form in which an app gets it from the provider.
package struct InspectedDocument: Sendable {
    /// The title of a JSON document on an inspector page, such as `GET /user`.
    package let title: String
    package let value: JSONValue

    package init(_ title: String, _ value: JSONValue) {
        self.title = title
        self.value = value
    }
}

/// A token that a client has, as an inspector page lists it. If the token is valid, the page has a button that revokes
/// it by a call of the control API.
package struct InspectedToken: Sendable {
    /// The kind of a token on an inspector page, such as "access token".
    package let kind: String
    package let text: String
    package let scopes: [String]
    /// The time when the token expires; `nil` when it lasts until it is revoked.
    package let expires: Instant?
    /// Whether the token is valid now.
    package let works: Bool

    package init(_ kind: String, _ text: String, scopes: [String], expires: Instant?, works: Bool) {
        self.kind = kind
        self.text = text
        self.scopes = scopes
        self.expires = expires
        self.works = works
    }
}

/// An action for which an inspector page has a button.
package struct InspectedAction: Sendable {
    package enum Work: Sendable {
        /// The action calls the control API, for example with the path `apple/notifications`.
        case call(String, path: String, JSONValue?)
        /// The action runs a function, which returns a message about the result. It is for actions for which the
        /// control API has no call.
        case work(@Sendable () async throws -> String)
    }

    /// A key that is unique among the provider's actions on the same inspector page.
    package let key: String
    package let label: String
    package let isDestructive: Bool
    package let work: Work

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

/// The error that tells why an action of an inspector page wasn't done.
package struct InspectedRefusal: Error, Sendable {
    package let status: Int
    /// The reason why an action of an inspector page wasn't done, in a sentence.
    package let message: String
    /// The path of the field that caused the error, such as `$.email`.
    package let path: String?

    package init(_ status: Int, _ message: String, path: String? = nil) {
        self.status = status
        self.message = message
        self.path = path
    }
}

/// An authorization code or a token that a provider has issued in a test world and still remembers.
package struct IssuedValue: Sendable {
    package enum Kind: String, Sendable {
        case code = "authorization code"
        case accessToken = "access token"
        case refreshToken = "refresh token"
    }

    package let kind: Kind
    /// The ID of the client to which the code or token was given.
    package let client: String
    /// The ID of the account of the person who signed in; empty if the client acts for itself.
    package let account: String
    /// The redirect URI of the authorization request for which a code was issued; `nil` if the request had none.
    package let redirectURI: String?
    /// Whether the authorization request for which a code was issued had a `code_challenge`.
    package let hasChallenge: Bool
    /// The time when the code or token expires; `nil` when it lasts until it is revoked.
    package let expires: Instant?
    /// The ID of the request that redeemed the authorization code; `nil` before it is redeemed.
    package let usedBy: String?

    package init(
        _ kind: Kind, client: String, account: String, redirectURI: String? = nil, hasChallenge: Bool = false,
        expires: Instant?, usedBy: String? = nil
    ) {
        self.kind = kind
        self.client = client
        self.account = account
        self.redirectURI = redirectURI
        self.hasChallenge = hasChallenge
        self.expires = expires
        self.usedBy = usedBy
    }
}

/// The person that a provider identifies by a `sub` of an ID token.
package struct KnownSubject: Sendable {
    /// The ID of the account of the person whom a `sub` identifies; `nil` if the `sub` is that of a user in an app's
    /// own user directory, as at Firebase.
    package let account: String?
    /// A short description of the person with a `sub`, such as "Ada Lovelace".
    package let about: String

    package init(account: String? = nil, about: String) {
        self.account = account
        self.about = about
    }

    package init(_ account: Account) { self.init(account: account.id, about: account.fullName) }
}

extension World {
    /// Returns the person whom a provider knows by an identifier such as `example.login:ada`
    /// (`AccountProfile.identifiers`).
    package func subject(identifier: String) -> KnownSubject? {
        read { $0.first(Account.byIdentifier, identifier) }.map { KnownSubject($0) }
    }
}

/// A text to search for in other texts, ignoring case. Characters that Unicode can write in two ways are found only as
/// the searched text writes them.
package struct TextSearch: Sendable {
    private let wanted: String

    package init(_ wanted: String) { self.wanted = wanted.lowercased() }

    package func isFound(in text: String) -> Bool { text.lowercased().contains(wanted) }
}
