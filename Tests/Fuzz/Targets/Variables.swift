import HTTPServer
import JSON

/// The values to which a script's requests can refer: secrets, and values from earlier answers. A name stands for the
/// latest value, and the name with `_old` behind it for the one before.
struct Variables {
    /// The names of the values that are kept: members of JSON answers, and fields of redirects and of forms on pages.
    static let names: Set<String> = [
        "code", "access_token", "id_token", "refresh_token", "idToken", "refreshToken", "oobCode", "sessionInfo",
        "device_code", "user_code", "mfaPendingCredential", "pendingToken", "authorizationCode", "identityToken",
        "localId", "sessionCookie", "id", "user", "sub", "state", "sessionId", "mfaEnrollmentId",
        "phoneVerificationCode",
        "authenticity_token", "request", "token", "postBody", "authUri", "last", "customToken",
    ]

    private var values: [String: String] = [:]

    init(secret: String, signs sign: ([UInt8], [UInt8]) throws -> String) {
        values["secret"] = secret
        values["cookie"] = "understudy_github_session=none"
        values["expired"] = try? sign(
            Array(#"{"alg":"ES256","kid":"ABC123DEFG"}"#.utf8),
            Array(
                #"{"iss":"A1B2C3D4E5","iat":1,"exp":2,"aud":"https://appleid.apple.com","sub":"com.example.web"}"#.utf8)
        )
    }

    mutating func learn(from response: Response) {
        if let cookie = response.header("Set-Cookie") { values["cookie"] = String(cookie.prefix { $0 != ";" }) }
        if let location = response.header("Location") {
            set("location", location)
            for name in Variables.names { Variables.field(name, of: location).map { set(name, $0) } }
        }
        let type = response.header("Content-Type")?.mediaType ?? ""
        if type == "text/html" {
            learn(fromPage: String(decoding: response.body.prefix(65_536), as: UTF8.self))
        } else if response.body.count < 65_536 {
            if let value = response.json {
                learn(from: value, depth: 0)
            } else {
                for field in Form(parsing: response.body).fields.prefix(20) where Variables.names.contains(field.name) {
                    set(field.name, field.value)
                }
            }
        }
    }

    private mutating func learn(from value: JSONValue, depth: Int) {
        guard depth < 6 else { return }
        for (name, member) in value.object?.members.prefix(60) ?? [] {
            if Variables.names.contains(name), let text = member.string { set(name, text) }
            learn(from: member, depth: depth + 1)
        }
        for item in value.array?.suffix(4) ?? [] { learn(from: item, depth: depth + 1) }
    }

    private mutating func learn(fromPage text: String) {
        for tag in text.split(separator: "<input ").dropFirst().prefix(20) {
            let pieces = tag.split(separator: "\"", maxSplits: 12, omittingEmptySubsequences: false)
            func attribute(_ name: String) -> String? {
                guard let place = pieces.firstIndex(where: { $0.hasSuffix("\(name)=") }), place + 1 < pieces.count
                else {
                    return nil
                }
                return String(pieces[place + 1])
            }
            if let name = attribute("name"), Variables.names.contains(name), let value = attribute("value") {
                set(name, value)
            }
        }
    }

    private mutating func set(_ name: String, _ value: String) {
        guard value.utf8.count < 8192 else { return }
        if let old = values[name], old != value { values["\(name)_old"] = old }
        values[name] = value
    }

    /// Returns a field of a redirect's query or fragment.
    static func field(_ name: String, of location: String) -> String? {
        Form(parsing: location.drop { $0 != "?" && $0 != "#" }.dropFirst().prefix { $0 != "#" })[name]
    }

    /// Replaces the references in a text. The text stops growing a little beyond the largest size that a request may
    /// have.
    func filled(_ bytes: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        var place = bytes.startIndex
        while place < bytes.endIndex, output.count <= 1 << 20 {
            guard bytes[place] == UInt8(ascii: "$") else {
                output.append(bytes[place])
                place += 1
                continue
            }
            let rest = bytes[(place + 1)...]
            if let repetition = Variables.repetition(rest) {
                output += Array(repeatElement(repetition.text, count: repetition.count).joined().prefix(1 << 20))
                place = repetition.end
                continue
            }
            let name = String(
                decoding: rest.prefix { $0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x7A || $0 == 0x5F }, as: UTF8.self)
            output += Array((values[name] ?? name).utf8)
            place += 1 + name.utf8.count
        }
        return output
    }

    /// Reads a repetition such as `{600*text}`, and returns the count, the text and the place behind it.
    private static func repetition(_ rest: ArraySlice<UInt8>) -> (count: Int, text: ArraySlice<UInt8>, end: Int)? {
        guard rest.first == UInt8(ascii: "{"), let close = rest.firstIndex(of: UInt8(ascii: "}")),
            let star = rest[..<close].firstIndex(of: UInt8(ascii: "*"))
        else { return nil }
        let text = rest[(star + 1)..<close]
        guard let count = Int(String(decoding: rest[(rest.startIndex + 1)..<star], as: UTF8.self)), count > 0,
            !text.isEmpty
        else { return nil }
        return (min(count, (1 << 20) / text.count), text, close + 1)
    }
}
