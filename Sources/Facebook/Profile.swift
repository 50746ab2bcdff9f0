import EmulatorCore
import HTTPServer
import JSON
import OAuth

// GET https://graph.facebook.com/me, /ID and /me/picture
// https://developers.facebook.com/docs/graph-api/reference/user
// https://developers.facebook.com/docs/graph-api/reference/user/picture
//
// Quirks: a profile holds id and name unless fields asks for more; a field that there isn't is an error, and one that the person hasn't
// filled in, or whose permission is missing, is left out. email is missing, too, when the address isn't confirmed.

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
        let names = parameter("fields", exchange).map { ProfileField.list($0).map(\.name) + ["id"] }
        return FacebookProvider.json(.object(JSONObject(all.filter { names?.contains($0.0) ?? true })))
    }

    func profile(_ exchange: Exchange) throws(GraphError) -> Response {
        if let id = exchange.parameters["id"], apps[id] != nil { return try application(exchange) }
        let person = try person(exchange)
        let fields = ProfileField.list(parameter("fields", exchange) ?? "id,name")
        if let other = fields.first(where: { !ProfileField.known.contains($0.name) }) {
            throw GraphError(
                message: "(#100) Tried accessing nonexisting field (\(other.name)) on node type (User)", code: 100,
                diagnosis: Diagnosis(
                    received: "fields=…\(Diagnosis.quote(other.name))…",
                    "a person has no such field\(Spelling.hint(other.name, among: ProfileField.common))"))
        }
        return FacebookProvider.json(.object(document(person.account, fields, person.grant.granted)))
    }

    func document(_ account: Account, _ fields: [ProfileField], _ permissions: [String]) -> JSONObject {
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
                document["picture"] = ["data": .object(Picture(field).document(account))]
            default: break
            }
        }
        document["id"] = .string(account.facebook.id)
        return document
    }

    /// Without `redirect=false`, the picture itself.
    func picture(_ exchange: Exchange) throws(GraphError) -> Response {
        let account = try person(exchange).account
        let picture = Picture(
            type: parameter("type", exchange), width: parameter("width", exchange),
            height: parameter("height", exchange))
        guard ["0", "false"].contains(parameter("redirect", exchange)?.lowercased() ?? "") else {
            return .redirect(to: picture.url(account))
        }
        return FacebookProvider.json(["data": .object(picture.document(account))])
    }

    static func picture(_ account: Account) -> String { Picture(type: nil, width: nil, height: nil).url(account) }
}

/// A field of a list of fields: `picture.type(large){url,width}`.
struct ProfileField: Sendable {
    let name: String
    /// What stands after the name: `.type(large){url,width}`.
    let rest: String

    static func list(_ text: String) -> [ProfileField] {
        var fields: [ProfileField] = []
        var field = ""
        var depth = 0
        for character in text + "," {
            if "({".contains(character) { depth += 1 }
            if ")}".contains(character) { depth -= 1 }
            guard character == ",", depth == 0 else {
                field.append(character)
                continue
            }
            let trimmed = field.drop { $0 == " " }
            let name = trimmed.prefix { !".({ ".contains($0) }
            if !name.isEmpty {
                fields.append(ProfileField(name: String(name), rest: String(trimmed[name.endIndex...])))
            }
            field = ""
        }
        return fields
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
    private var members: [String]?

    private static let sizes = ["album": 50, "small": 50, "square": 50, "normal": 100, "large": 200]

    init(type: String?, width: String?, height: String?) {
        func number(_ text: String?) -> Int? {
            text.flatMap { Int($0) }.flatMap { (1...2_048).contains($0) ? $0 : nil }
        }
        let size = type.flatMap { Picture.sizes[$0] } ?? 50
        self.width = number(width) ?? number(height) ?? size
        self.height = number(height) ?? number(width) ?? size
    }

    init(_ field: ProfileField) {
        func argument(_ name: String) -> String? {
            field.rest.firstRange(of: ".\(name)(").map { String(field.rest[$0.upperBound...].prefix { $0 != ")" }) }
        }
        self.init(type: argument("type"), width: argument("width"), height: argument("height"))
        if let brace = field.rest.firstIndex(of: "{") {
            let names = field.rest[field.rest.index(after: brace)...].prefix { $0 != "}" }
            members = names.split { $0 == "," || $0 == " " }.map(String.init)
        }
    }

    func url(_ account: Account) -> String {
        "https://platform-lookaside.fbsbx.com/platform/profilepic/?asid=\(account.facebook.id)&height=\(height)&width=\(width)"
    }

    func document(_ account: Account) -> JSONObject {
        let all: [(String, JSONValue)] = [
            ("height", .integer(Int64(height))), ("is_silhouette", false), ("url", .string(url(account))),
            ("width", .integer(Int64(width))),
        ]
        return JSONObject(all.filter { members?.contains($0.0) ?? true })
    }
}
