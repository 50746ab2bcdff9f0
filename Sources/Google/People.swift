import EmulatorCore
import HTTPServer
import JSON
import OAuth

// GET https://people.googleapis.com/v1/people/me
// https://developers.google.com/people/api/rest/v1/people/get
//
// Quirks: personFields is required. The resource's name is "people/" and the person's number. Other people aren't
// served, and of all fields there are only names, addresses and pictures.

extension GoogleProvider {
    static let peopleHost = "people.googleapis.com"

    /// The fields that Google has.
    private static let personFields: Set<String> = [
        "addresses", "ageRanges", "biographies", "birthdays", "calendarUrls", "clientData", "coverPhotos",
        "emailAddresses", "events", "externalIds", "genders", "imClients", "interests", "locales", "locations",
        "memberships", "metadata", "miscKeywords", "names", "nicknames", "occupations", "organizations",
        "phoneNumbers", "photos", "relations", "sipAddresses", "skills", "urls", "userDefined",
    ]
    private static let documented =
        "Valid paths are documented at https://developers.google.com/people/api/rest/v1/people/get."

    func personOfToken(_ exchange: Exchange) -> Response {
        do throws(APIError) {
            let (scopes, account) = try person(exchange)
            let fields = try personFields(exchange.request.queryForm)
            return GoogleProvider.json(.object(describe(account, fields, scopes)))
        } catch { return error.response }
    }

    private func person(_ exchange: Exchange) throws(APIError) -> (GoogleScopes, Account) {
        let text = exchange.request.accessToken() ?? ""
        guard !text.isEmpty else {
            throw .noCredential(Diagnosis("there is no access token: send it as Authorization: Bearer"))
        }
        let found = exchange.world.read { $0.working(text, .access, GoogleGrant.self) }
        guard let (token, _, account) = found else {
            let reason = exchange.reason(againstUsing: text, .access, GoogleGrant.self)
            throw .invalidCredential(Diagnosis("the access token doesn't work: \(reason)"))
        }
        let scopes = token.details.scopes
        // The scopes for each field aren't completely documented: here, those of sign-in give what userinfo gives.
        guard scopes.contains("email") || scopes.contains("profile") else {
            throw .insufficientScopes(
                Diagnosis(
                    received: "a token for \(Diagnosis.quote(scopes.text))", expected: "email or profile",
                    "ask for one of these scopes, too"))
        }
        return (scopes, account)
    }

    /// Returns the requested fields: personFields, or the older requestMask.includeField, whose paths begin with
    /// "person." (<https://developers.google.com/people/api/rest/v1/RequestMask>,
    /// <https://github.com/codenameone/CodenameOne/issues/3135>).
    private func personFields(_ query: Form) throws(APIError) -> Set<String> {
        func split(_ text: String) -> [Substring] { text.split { $0 == "," || $0 == " " } }
        let mask = split(query["requestMask.includeField"] ?? "").map {
            $0.hasPrefix("person.") ? $0.dropFirst("person.".count) : $0
        }
        let text = query["personFields"] ?? ""
        let fields = Set((text.isEmpty ? mask : split(text)).map(String.init))
        // https://github.com/googleapis/google-api-nodejs-client/issues/989
        guard !fields.isEmpty else {
            throw APIError(
                400, "INVALID_ARGUMENT",
                "personFields mask is required. Please specify one or more valid paths. \(GoogleProvider.documented)",
                Diagnosis("send personFields=names,emailAddresses"))
        }
        if let other = fields.subtracting(GoogleProvider.personFields).min() {
            throw APIError(
                400, "INVALID_ARGUMENT", "Invalid personFields mask path: \"\(other)\". \(GoogleProvider.documented)",
                Diagnosis(received: "the field \(Diagnosis.quote(other))", "name fields of Google's documentation"))
        }
        return fields
    }

    private func describe(_ account: Account, _ fields: Set<String>, _ scopes: GoogleScopes) -> JSONObject {
        let sub = account.google.sub
        func metadata(_ source: String, isVerified: Bool = false) -> JSONValue {
            var metadata = JSONObject([("primary", true)])
            if isVerified { metadata["verified"] = true }
            metadata["source"] = ["type": .string(source), "id": .string(sub)]
            metadata["sourcePrimary"] = true
            return .object(metadata)
        }
        var person = JSONObject([("resourceName", .string("people/\(sub)")), ("etag", "%EgMBLjcaBAECBQciAA==")])
        if fields.contains("metadata") {
            person["metadata"] = [
                "sources": [["type": "PROFILE", "id": .string(sub)]], "objectType": "PERSON",
            ]
        }
        if fields.contains("names"), scopes.contains("profile") {
            let (given, family) = (account.name.given, account.name.family)
            person["names"] = [
                [
                    "metadata": metadata("PROFILE"), "displayName": .string(account.fullName),
                    "familyName": .string(family), "givenName": .string(given),
                    "displayNameLastFirst": .string(family.isEmpty ? given : "\(family), \(given)"),
                    "unstructuredName": .string(account.fullName),
                ]
            ]
        }
        if fields.contains("photos"), scopes.contains("profile") {
            person["photos"] = [["metadata": metadata("PROFILE"), "url": .string(account.google.picture)]]
        }
        if fields.contains("emailAddresses"), scopes.contains("email") {
            person["emailAddresses"] = [
                [
                    "metadata": metadata("ACCOUNT", isVerified: account.emailVerified),
                    "value": .string(account.email),
                ]
            ]
        }
        return person
    }
}
