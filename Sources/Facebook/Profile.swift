import EmulatorCore
import HTTPServer
import JSON
import OAuth

// GET https://graph.facebook.com/me, /ID, /me/friends, /me/accounts and /me/picture
// https://developers.facebook.com/docs/graph-api/reference/user
// https://developers.facebook.com/docs/graph-api/reference/user/friends
// https://developers.facebook.com/docs/graph-api/reference/user/picture
//
// Quirks: a profile holds id and name unless fields asks for more; a field that there isn't is an error, and one that the person hasn't
// filled in, or whose permission is missing, is left out. email is missing, too, when the address isn't confirmed. A picture of
// somebody named by ID needs no access token.

extension FacebookProvider {
    /// `/app`, or an app by its ID: by it servers tell whose token they were given, such as
    /// <https://github.com/parse-community/parse-server>'s. <https://developers.facebook.com/docs/graph-api/reference/application>
    func application(_ exchange: Exchange) throws(GraphError) -> Response {
        let app = try callingApp(exchange)
        if let id = exchange.parameters["id"], id != app.id {
            throw noSuchObject(id, exchange, Diagnosis("only the token's own app is served: /app, or its ID"))
        }
        let all: [(String, JSONValue)] = [
            ("link", .string("https://www.facebook.com/games/?app_id=\(app.id)")), ("name", .string(app.name)),
            ("id", .string(app.id)),
        ]
        let names = try fields(exchange).map { $0.map(\.name) + ["id"] }
        return FacebookProvider.json(.object(JSONObject(all.filter { names?.contains($0.0) ?? true })))
    }

    /// The fields that a call asks for; `nil` for one that doesn't say.
    private func fields(_ exchange: Exchange) throws(GraphError) -> [ProfileField]? {
        guard let text = parameter("fields", exchange) else { return nil }
        if let fault = ProfileField.fault(in: text) {
            throw GraphError(
                message: "Syntax error \"\(fault.message)\" at character \(fault.place): \(text)", code: 2500,
                diagnosis: Diagnosis(
                    received:
                        "fields that begin with \(Diagnosis.quote(ProfileField.beginning(of: text, to: fault.place)))",
                    "fields are names with commas between them, such as id,name,picture.type(large){url}"))
        }
        return ProfileField.list(text)
    }

    /// The same for a call that asks of people.
    private func personFields(_ exchange: Exchange) throws(GraphError) -> [ProfileField]? {
        guard let fields = try fields(exchange) else { return nil }
        let ofFriends = fields.first { $0.name == "friends" }.flatMap(ProfileField.inner) ?? []
        if let other = (fields + ofFriends).first(where: { !ProfileField.known.contains($0.name) }) {
            throw GraphError(
                message: "(#100) Tried accessing nonexisting field (\(other.name)) on node type (User)", code: 100,
                diagnosis: Diagnosis(
                    received:
                        "the field \(Diagnosis.quote(ProfileField.beginning(of: other.name, to: other.name.count)))",
                    "a person has no such field\(Spelling.hint(other.name, among: ProfileField.common))"))
        }
        return fields
    }

    func profile(_ exchange: Exchange) throws(GraphError) -> Response {
        if let id = exchange.parameters["id"], apps[id] != nil { return try application(exchange) }
        return FacebookProvider.json(.object(profile(of: try person(exchange), try personFields(exchange), exchange)))
    }

    /// Several people in one call, by their IDs: `/?ids=1,2`, as <https://github.com/mobolic/facebook-sdk>'s get_objects asks.
    func objects(_ exchange: Exchange) throws(GraphError) -> Response {
        let isAddress =
            exchange.parameters["id"].map(FacebookProvider.isVersion) ?? (exchange.parameters["version"] == nil)
        guard isAddress, let text = parameter("ids", exchange) else { throw unserved(exchange) }
        var known: Set<String> = []
        let ids = text.split(separator: ",").map(String.init).filter { known.insert($0).inserted }
        guard ids.count <= FacebookProvider.mostIDs else {
            throw GraphError(
                message: "(#100) Too many IDs. Maximum: \(FacebookProvider.mostIDs). Provided: \(ids.count).",
                code: 100,
                diagnosis: Diagnosis("ids has \(ids.count) IDs: ask for them in several calls"))
        }
        let caller = try caller(exchange)
        let fields = try personFields(exchange)
        var people = JSONObject()
        for id in ids {
            people[id] = .object(profile(of: try person(exchange, id: id, for: caller), fields, exchange))
        }
        return FacebookProvider.json(.object(people))
    }

    /// <https://github.com/restfb/restfb/issues/157>; the words stand among the tests of <https://github.com/snarfed/webutil>.
    private static let mostIDs = 50

    private func profile(
        of person: GraphPerson, _ fields: [ProfileField]?, _ exchange: Exchange
    ) -> JSONObject {
        let fields = fields ?? ProfileField.list("id,name")
        let edges = fields.reduce(into: [:]) { edges, field in
            edges[field.name] = edge(field.name, of: person, ProfileField.inner(field), exchange)
        }
        return document(person.account, fields, person.grant.granted, edges: edges, reached: exchange.reachable)
    }

    /// What the people of a list are told of, in a query of its own or within that of a profile; `nil` where nothing is told.
    private func edge(
        _ name: String, of person: GraphPerson, _ fields: [ProfileField]?, _ exchange: Exchange
    ) -> JSONValue? {
        switch name {
        case "accounts": ["data": []]
        case "friends" where person.grant.granted.contains("user_friends"):
            [
                "data": .array(
                    friends(of: person, exchange).map { friend in
                        .object(
                            document(
                                friend, fields ?? ProfileField.list("name,id"), ["public_profile"],
                                reached: exchange.reachable))
                    }), "summary": ["total_count": .integer(Int64(person.account.facebook.friends.count))],
            ]
        case "permissions": FacebookProvider.permissions(of: person.grant)
        default: nil
        }
    }

    /// Those friends who use the app, too, and haven't kept themselves out of such lists.
    private func friends(of person: GraphPerson, _ exchange: Exchange) -> [Account] {
        exchange.world.read { $0.friends(of: person.account, in: person.grant.app) }
    }

    /// Nothing is in the list without the permission: <https://github.com/restfb/restfb/issues/280>. What there is, with a count of all
    /// friends: <https://github.com/facebookarchive/react-native-fbsdk/issues/129>. Everybody fits on one page.
    func friends(_ exchange: Exchange) throws(GraphError) -> Response {
        let person = try person(exchange)
        return FacebookProvider.json(edge("friends", of: person, try personFields(exchange), exchange) ?? ["data": []])
    }

    /// The Pages of a person; nobody has any.
    func accounts(_ exchange: Exchange) throws(GraphError) -> Response {
        let person = try person(exchange)
        return FacebookProvider.json(edge("accounts", of: person, try fields(exchange), exchange) ?? ["data": []])
    }

    /// `reached` says where a client finds an address of Facebook's.
    func document(
        _ account: Account, _ fields: [ProfileField], _ permissions: [String], edges: [String: JSONValue] = [:],
        reached: (String) -> String = { $0 }
    ) -> JSONObject {
        let details = account.facebook.details
        var document = JSONObject()
        for field in fields {
            switch field.name {
            case "name": document["name"] = .string(account.fullName)
            case "first_name": document["first_name"] = .string(account.name.given)
            case "last_name": document["last_name"] = .string(account.name.family)
            case "short_name": document["short_name"] = .string(account.name.given)
            case "name_format": document["name_format"] = "{first} {last}"
            case "email" where permissions.contains("email") && account.emailVerified:
                document["email"] = .string(account.email)
            case "picture":
                document["picture"] = ["data": .object(field.picture.document(account, reached))]
            default:
                let detail = details.first { $0.field == field.name && permissions.contains($0.permission) }
                if let value = detail?.value ?? edges[field.name] { document[field.name] = value }
            }
        }
        document["id"] = .string(account.facebook.id)
        return document
    }

    /// Without `redirect=false`, the picture itself.
    func picture(_ exchange: Exchange) throws(GraphError) -> Response {
        let account = try pictured(exchange)
        let picture = Picture(
            type: parameter("type", exchange), width: parameter("width", exchange),
            height: parameter("height", exchange))
        guard ["0", "false"].contains(parameter("redirect", exchange)?.lowercased() ?? "") else {
            return .redirect(to: exchange.reachable(picture.url(account)))
        }
        return FacebookProvider.json(["data": .object(picture.document(account, exchange.reachable))])
    }

    /// The image at a picture's address, of at most 720 pixels a side: Facebook's aren't always as large as was asked for, either.
    static func image(_ exchange: Exchange) -> Response {
        let query = exchange.request.queryForm
        let id = query["asid"] ?? ""
        guard exchange.world.read({ $0.account(facebookID: id) }) != nil else {
            return Response(status: 404, contentType: "text/plain", body: "Not Found")
                .diagnosed(Diagnosis(received: "asid \(Diagnosis.quote(id))", "nobody has this ID at Facebook"))
        }
        func side(_ name: String) -> Int { query[name].flatMap { Int($0) } ?? 50 }
        return Avatar.response(of: "facebook.picture:\(id)", width: side("width"), height: side("height"))
    }

    /// Whose picture is asked for. An ID that is an app's own for a person needs no access token; one that is sent must be right
    /// (<https://github.com/simi/omniauth-facebook/issues/360>). What isn't such an ID is refused as for want of a token
    /// (<https://github.com/pennersr/django-allauth/issues/2488>).
    private func pictured(_ exchange: Exchange) throws(GraphError) -> Account {
        let named = exchange.parameters["id"].flatMap { id in
            exchange.world.read { $0.account(facebookID: id) }
        }
        guard let named else { return try person(exchange).account }
        if !callerToken(exchange).isEmpty { _ = try callingApp(exchange) }
        return named
    }

    static func picture(_ account: Account) -> String { Picture(type: nil, width: nil, height: nil).url(account) }
}

extension TableReading where Self: ~Copyable {
    borrowing func account(facebookID id: String) -> Account? { first(Account.byIdentifier, "facebook.id:\(id)") }

    /// The friends whom an app may be told of.
    borrowing func friends(of account: Account, in app: String) -> [Account] {
        account.facebook.friends.compactMap { id in
            let grant = find(FacebookGrant.self, FacebookGrant.key(id, app: app))
            return grant?.granted.contains("user_friends") ?? false ? self.account(id) : nil
        }
    }
}

/// A field of a list of fields: `picture.type(large){url,width}`.
struct ProfileField: Sendable {
    let name: String
    /// What stands after the name: `.type(large){url,width}`.
    let rest: String
    /// The picture that the field asks for, if it is one.
    let picture: Picture

    private init(_ text: Substring) {
        let name = text.prefix { !".({ ".contains($0) }
        self.name = String(name)
        rest = String(text[name.endIndex...])
        picture = Picture(asked: rest)
    }

    /// The list has each field once, as it comes first.
    static func list(_ text: String) -> [ProfileField] {
        var fields: [ProfileField] = []
        var names: Set<String> = []
        var field = ""
        var depth = 0
        for character in text + "," {
            if "({".contains(character) { depth += 1 }
            if ")}".contains(character) { depth -= 1 }
            guard character == ",", depth == 0 else {
                field.append(character)
                continue
            }
            let item = ProfileField(field.drop { $0 == " " })
            if !item.name.isEmpty, names.insert(item.name).inserted { fields.append(item) }
            field = ""
        }
        return fields
    }

    /// A list of fields up to a place in it, and no argument: what a mistaken client writes behind may be a token.
    static func beginning(of text: String, to place: Int) -> String {
        var rest = text.unicodeScalars.prefix(place).makeIterator()
        var beginning = ""
        while let next = rest.next(), isName(next) || ",.".unicodeScalars.contains(next) {
            beginning.unicodeScalars.append(next)
        }
        return beginning
    }

    private static func isName(_ character: Unicode.Scalar) -> Bool {
        character.isASCII && character.properties.isAlphabetic || ("0"..."9").contains(character) || character == "_"
    }

    /// What is wrong with a list of fields, in the Graph API's words, and at which character, counted from 0: a name that comes twice
    /// (<https://nordicapis.com/best-practices-api-error-handling/>), what ends a field and is no comma
    /// (<https://github.com/criso/fbgraph/issues/125>, <https://github.com/node-facebook/facebook-node-sdk/issues/123>,
    /// <https://github.com/simi/omniauth-facebook/issues/138>), or an argument without an end
    /// (<https://github.com/tobilg/facebook-events-by-location-core/issues/30>). What is said of a mistake within braces isn't public, nor
    /// of other mistakes: nothing is found there.
    static func fault(in text: String) -> (message: String, place: Int)? {
        var (braces, parentheses) = (0, 0)
        var (isInField, isClosed) = (false, false)
        var place = 0
        var (name, isNamed) = ("", false)
        var names: Set<String> = []
        func repetition() -> (message: String, place: Int)? {
            guard !name.isEmpty, !names.insert(name).inserted else { return nil }
            return ("Field \(name) specified more than once. This is only possible before version 2.1", place)
        }
        for character in text.unicodeScalars {
            defer { place += 1 }
            switch character {
            case "(":
                parentheses += 1
                isNamed = true
            case ")": parentheses = max(0, parentheses - 1)
            case _ where parentheses > 0: break
            case "{" where !isClosed || braces > 0: braces += 1
            case "}" where braces > 0:
                braces -= 1
                isClosed = braces == 0
            case _ where braces > 0: break
            case ",":
                if let fault = repetition() { return fault }
                (isInField, isClosed, name, isNamed) = (false, false, "", false)
            case " ", "\n", "\r", "\t": isNamed = !name.isEmpty
            case _ where isInField && (isClosed || !isName(character) && character != "."):
                return ("Expected end of string instead of \"\(character)\".", place)
            default:
                isInField = true
                isNamed = isNamed || character == "."
                if !isNamed { name.unicodeScalars.append(character) }
            }
        }
        return parentheses > 0 ? ("Expected \")\", got end of string", place) : repetition()
    }

    /// The fields that are asked for within another: `friends{id,name}`.
    static func inner(_ field: ProfileField) -> [ProfileField]? {
        guard let start = field.rest.firstIndex(of: "{"), let end = field.rest.lastIndex(of: "}"), start < end else {
            return nil
        }
        return list(String(field.rest[field.rest.index(after: start)..<end]))
    }

    /// What a misspelt name probably means.
    static let common = ["email", "first_name", "id", "last_name", "middle_name", "name", "picture", "short_name"]

    /// The fields and edges of a person in any version that still answers, read or not: many hold nothing here.
    static let known: Set<String> = Set(common).union([
        "about", "accounts", "adaccounts", "address", "age_range", "albums", "apprequests", "assigned_ad_accounts",
        "assigned_pages", "bio", "birthday", "books", "business_users", "businesses", "client_business_id", "context",
        "cover", "currency", "devices", "education", "events", "favorite_athletes", "favorite_teams", "feed",
        "friendlists", "friends", "fundraisers", "games", "gender", "groups", "hometown", "id_for_avatars",
        "ids_for_apps", "ids_for_business", "ids_for_pages", "inspirational_people", "install_type", "installed",
        "interested_in", "is_guest_user", "is_shared_login", "is_verified", "languages", "likes", "link",
        "live_videos", "locale", "location", "meeting_for", "metadata", "movies", "music", "name_format",
        "payment_pricepoints", "permissions", "personal_ad_accounts", "photos", "political", "posts", "profile_pic",
        "public_key", "quotes", "relationship_status", "religion", "rich_media_documents", "security_settings",
        "shared_login_upgrade_required_by", "significant_other", "sports", "supports_donate_button_in_live_video",
        "tagged_places", "television", "test_group", "third_party_id", "timezone", "token_for_business",
        "updated_time", "user_payment_mobile_pricepoints", "username", "verified", "video_upload_limits", "videos",
        "viewer_can_send_gift", "website", "work",
    ])
}

/// A profile picture in the size that was asked for.
struct Picture: Sendable {
    private let width: Int
    private let height: Int
    /// `nil` for all members.
    private var members: Set<String>?

    private static let sizes = ["album": 50, "small": 50, "square": 50, "normal": 100, "large": 200]

    init(type: String?, width: String?, height: String?) {
        func number(_ text: String?) -> Int? {
            text.flatMap { Int($0) }.flatMap { (1...2_048).contains($0) ? $0 : nil }
        }
        let size = type.flatMap { Picture.sizes[$0] } ?? 50
        self.width = number(width) ?? number(height) ?? size
        self.height = number(height) ?? number(width) ?? size
    }

    /// The picture that stands in a list of fields: `.type(large){url,width}`.
    init(asked text: String) {
        func argument(_ name: String) -> String? {
            text.firstRange(of: ".\(name)(").map { String(text[$0.upperBound...].prefix { $0 != ")" }) }
        }
        self.init(type: argument("type"), width: argument("width"), height: argument("height"))
        if let brace = text.firstIndex(of: "{") {
            let names = text[text.index(after: brace)...].prefix { $0 != "}" }
            members = Set(names.split { $0 == "," || $0 == " " }.map(String.init))
        }
    }

    func url(_ account: Account) -> String {
        "https://\(FacebookProvider.pictureHost)/platform/profilepic/?asid=\(account.facebook.id)&height=\(height)&width=\(width)"
    }

    func document(_ account: Account, _ reached: (String) -> String) -> JSONObject {
        let all: [(String, JSONValue)] = [
            ("height", .integer(Int64(height))), ("is_silhouette", false), ("url", .string(reached(url(account)))),
            ("width", .integer(Int64(width))),
        ]
        return JSONObject(all.filter { members?.contains($0.0) ?? true })
    }
}
