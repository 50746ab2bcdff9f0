import EmulatorCore
import HTTPServer
import JSON
import OAuth
import Text
import Worlds

// GET https://graph.facebook.com/me, /ID, /me/friends, /me/accounts and /me/picture
//
// Quirks: a profile has id and name unless fields asks for more. An unknown field is an error. A field that the person
// hasn't filled in, or whose permission is missing, is left out. email is also left out if the address isn't confirmed.
// The picture of a person named by ID needs no access token.

extension FacebookProvider {
    /// Handles the Graph API's `/app`, and `/APPID` for the caller's own app. Servers such as Parse Server call this to
    /// find out to which app an access token belongs.
    func application(_ exchange: Exchange) throws(GraphError) -> Response {
        let app = try callingApp(exchange)
        if let id = exchange.parameters["id"], id != app.id {
            throw noSuchObject(id, exchange, Diagnosis("an access token shows only its own app: request /app"))
        }
        let all: [(String, JSONValue)] = [
            ("link", .string("https://www.facebook.com/games/?app_id=\(app.id)")), ("name", .string(app.name)),
            ("id", .string(app.id)),
        ]
        let names = try fields(exchange).map { $0.map(\.name) + ["id"] }
        return FacebookProvider.json(.object(JSONObject(all.filter { names?.contains($0.0) ?? true })))
    }

    /// Returns the fields that a Graph API call asks for in its parameter `fields`; `nil` if the call doesn't have the
    /// parameter.
    private func fields(_ exchange: Exchange) throws(GraphError) -> [ProfileField]? {
        guard let text = parameter("fields", exchange) else { return nil }
        if let fault = ProfileField.fault(in: text) {
            throw GraphError(
                message: "Syntax error \"\(fault.message)\" at character \(fault.place): \(text)", code: 2500,
                diagnosis: Diagnosis(
                    received:
                        "fields that begin with \(Diagnosis.quote(ProfileField.beginning(of: text, to: fault.place)))",
                    "fields must be names separated by commas, such as id,name,picture.type(large){url}"))
        }
        return ProfileField.list(text)
    }

    /// Returns the fields of a person that a Graph API call asks for (`fields`).
    ///
    /// - Throws: The Graph API's error for a field that a person doesn't have.
    private func personFields(_ exchange: Exchange) throws(GraphError) -> [ProfileField]? {
        guard let fields = try fields(exchange) else { return nil }
        let ofFriends = fields.first { $0.name == "friends" }.flatMap(ProfileField.inner) ?? []
        if let other = (fields + ofFriends).first(where: { !ProfileField.known.contains($0.name) }) {
            throw GraphError(
                message: "(#100) Tried accessing nonexisting field (\(other.name)) on node type (User)", code: 100,
                diagnosis: Diagnosis(
                    received:
                        "the field \(Diagnosis.quote(ProfileField.beginning(of: other.name, to: other.name.count)))",
                    "a user has no such field\(Spelling.hint(other.name, among: ProfileField.common))"))
        }
        return fields
    }

    func profile(_ exchange: Exchange) throws(GraphError) -> Response {
        if let id = exchange.parameters["id"], apps[id] != nil { return try application(exchange) }
        let (person, fields) = (try person(exchange), try personFields(exchange))
        try FacebookProvider.checkFriends(of: [person], fields)
        return FacebookProvider.json(.object(profile(of: person, fields, exchange)))
    }

    /// Handles a Graph API call for several people by their IDs: `/?ids=1,2`.
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
                diagnosis: Diagnosis(
                    received: "\(ids.count) IDs in ids", expected: "at most \(FacebookProvider.mostIDs) IDs",
                    "split them into several requests"))
        }
        let caller = try caller(exchange)
        let fields = try personFields(exchange)
        let people = try ids.map { id throws(GraphError) in try person(exchange, id: id, for: caller) }
        try FacebookProvider.checkFriends(of: people, fields)
        var profiles = JSONObject()
        for (id, person) in zip(ids, people) { profiles[id] = .object(profile(of: person, fields, exchange)) }
        return FacebookProvider.json(.object(profiles))
    }

    /// The greatest number of IDs in a Graph API call for several people.
    private static let mostIDs = 50
    /// The greatest number of friends in a Graph API call's answer. Facebook doesn't document its own limit.
    private static let mostFriends = 10_000

    /// Throws an error if the profiles of `people` with these fields would have too many friends.
    private static func checkFriends(of people: [GraphPerson], _ fields: [ProfileField]?) throws(GraphError) {
        guard fields?.contains(where: { $0.name == "friends" }) ?? false else { return }
        let count = people.reduce(0) { $0 + ($1.showsFriends ? $1.account.facebook.friends.count : 0) }
        guard count <= mostFriends else { throw .tooMuchData(limit: mostFriends) }
    }

    private func profile(
        of person: GraphPerson, _ fields: [ProfileField]?, _ exchange: Exchange
    ) -> JSONObject {
        let fields = fields ?? ProfileField.list("id,name")
        let edges = fields.reduce(into: [:]) { edges, field in
            edges[field.name] = edge(field.name, of: person, ProfileField.inner(field), exchange)
        }
        return document(person.account, fields, person.grant.granted, edges: edges, reached: exchange.reachable)
    }

    /// Returns a list that belongs to a person in the Graph API, such as `friends`; `nil` if there is no such list, or
    /// if the app may not see it.
    private func edge(
        _ name: String, of person: GraphPerson, _ fields: [ProfileField]?, _ exchange: Exchange
    ) -> JSONValue? {
        switch name {
        case "accounts": ["data": []]
        case "friends" where person.showsFriends:
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

    /// Returns those friends of a person who have granted the calling app the permission `user_friends`.
    private func friends(of person: GraphPerson, _ exchange: Exchange) -> [Account] {
        exchange.world.read { $0.friends(of: person.account, in: person.grant.app) }
    }

    /// Handles a Graph API call for a person's friends. Without the permission `user_friends` the list is empty. With
    /// the permission there is also the number of all friends. The list has only one page.
    func friends(_ exchange: Exchange) throws(GraphError) -> Response {
        let person = try person(exchange)
        return FacebookProvider.json(edge("friends", of: person, try personFields(exchange), exchange) ?? ["data": []])
    }

    /// Handles a Graph API call for the Pages that a person manages (`/me/accounts`). The list is always empty.
    func accounts(_ exchange: Exchange) throws(GraphError) -> Response {
        let person = try person(exchange)
        return FacebookProvider.json(edge("accounts", of: person, try fields(exchange), exchange) ?? ["data": []])
    }

    /// Returns a person's Facebook profile as JSON. `reached` turns a URL of Facebook into one that the client can
    /// reach.
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

    /// Handles a Graph API call for a profile picture. It redirects to the image, or with `redirect=false` it answers
    /// JSON.
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

    /// Returns the image at the URL of a Facebook profile picture. As at Facebook, the image may be smaller than
    /// requested: no side is longer than 720 pixels.
    static func image(_ exchange: Exchange) -> Response {
        let query = exchange.request.queryForm
        let id = query["asid"] ?? ""
        guard exchange.world.read({ $0.account(facebookID: id) }) != nil else {
            return Response(status: 404, contentType: "text/plain", body: "Not Found")
                .diagnosed(Diagnosis(received: "asid \(Diagnosis.quote(id))", "no user has this ID at Facebook"))
                .known(by: .ownPicture)
        }
        func side(_ name: String) -> Int { query[name].flatMap { Int($0) } ?? 50 }
        return Avatar.response(of: "facebook.picture:\(id)", width: side("width"), height: side("height"))
    }

    /// Returns the person whose Facebook profile picture is requested. The ID of a known user needs no access token,
    /// but a token that is sent must be valid. For `me` and for an unknown ID, the rules are those of other Graph API
    /// calls about a person.
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
    borrowing func account(facebookID id: String) -> Account? {
        first(Account.byIdentifier, FacebookProvider.identifier(ofSubject: id))
    }

    /// Returns those Facebook friends of a person who have granted the app the permission `user_friends`.
    borrowing func friends(of account: Account, in app: String) -> [Account] {
        account.facebook.friends.compactMap { id in
            let grant = self.grant(FacebookGrant.self, of: id, to: app)
            return grant?.granted.contains("user_friends") ?? false ? self.account(id) : nil
        }
    }
}

/// A field in the Graph API's parameter `fields`, such as `picture.type(large){url,width}`.
struct ProfileField: Sendable {
    let name: String
    /// The part of the field after its name, such as `.type(large){url,width}`.
    let rest: String
    /// The requested size and members of the profile picture, if the field is `picture`.
    let picture: Picture

    private init(_ text: Substring) {
        let name = text.prefix { !".({ ".contains($0) }
        self.name = String(name)
        rest = String(text[name.endIndex...])
        picture = Picture(asked: rest)
    }

    /// Reads the Graph API's parameter `fields`. A field that occurs several times is kept once, at its first position.
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

    /// Returns the beginning of the Graph API's parameter `fields`, up to a position, for a diagnosis. It ends before
    /// the first argument, because a faulty client may have put a token there.
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

    /// Returns the error in the Graph API's parameter `fields`, with the API's message and the position of the faulty
    /// character, counted from 0. It finds a repeated name, two fields without a comma between them, and an argument
    /// without an end. It doesn't find errors within braces, or errors of other kinds.
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

    /// Returns the fields that are requested within a field, as in `friends{id,name}`; `nil` if there are none.
    static func inner(_ field: ProfileField) -> [ProfileField]? {
        guard let start = field.rest.firstIndex(of: "{"), let end = field.rest.lastIndex(ofASCII: "}"), start < end
        else {
            return nil
        }
        return list(String(field.rest[field.rest.index(after: start)..<end]))
    }

    /// The names of a person's fields that are suggested for a misspelt name.
    static let common = ["email", "first_name", "id", "last_name", "middle_name", "name", "picture", "short_name"]

    /// The names of a person's fields and lists in all versions of the Graph API that still work. Understudy leaves
    /// many of them out of its responses.
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

/// The size of a Facebook profile picture, and the members of the picture's JSON, that a call requests.
struct Picture: Sendable {
    private let width: Int
    private let height: Int
    /// The members of the picture's JSON that the call requests; `nil` if the call requests all members.
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

    /// Reads the requested size and members of a picture from the parameter `fields`, such as
    /// `.type(large){url,width}`.
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
