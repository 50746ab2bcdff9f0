import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth

// GET https://graph.facebook.com/me
// https://developers.facebook.com/docs/graph-api/reference/user
//
// Quirks: a profile holds id and name unless fields asks for more; email is missing without its permission, or when the
// address isn't confirmed.

extension FacebookProvider {
    func profile(_ exchange: Exchange) -> Response {
        do throws(GraphError) {
            let caller = try accessToken(callerToken(exchange), exchange)
            guard let account = caller.account else {
                throw GraphError(
                    message: "Error validating access token: The session is invalid because the user logged out.",
                    code: 190, subcode: 467, diagnosis: Diagnosis("the account is gone"))
            }
            try checkProof(exchange, caller)
            if let id = exchange.parameters["id"], id != account.facebook.id {
                throw GraphError(
                    message: "Unsupported get request. Object with ID '\(id)' does not exist, cannot be loaded due to "
                        + "missing permissions, or does not support this operation.", code: 100, subcode: 33,
                    diagnosis: Diagnosis("only the token's own person is served: /me, or their ID"))
            }
            let fields = parameter("fields", exchange) ?? "id,name"
            return FacebookProvider.json(.object(document(account, fields, caller.details.permissions)))
        } catch {
            return error.response
        }
    }

    /// `appsecret_proof` is optional, but must be right when it is there:
    /// <https://developers.facebook.com/docs/graph-api/guides/secure-requests#appsecret_proof>.
    private func checkProof(_ exchange: Exchange, _ caller: AccessToken) throws(GraphError) {
        guard let proof = parameter("appsecret_proof", exchange), let app = apps[caller.grant.app] else { return }
        let expected = Digest.hmacSHA256(key: Array(app.secret.utf8), Array(caller.token.key.utf8))
        guard proof != Hex.encode(expected) else { return }
        throw GraphError(
            message: "Invalid appsecret_proof provided in the API argument", code: 100,
            diagnosis: Diagnosis(
                "appsecret_proof is the hex HMAC-SHA256 of the access token, with the app secret as key"))
    }

    func document(_ account: Account, _ fields: String, _ permissions: [String]) -> JSONObject {
        var document = JSONObject()
        for field in fieldNames(fields) {
            switch field {
            case "name": document["name"] = .string(account.fullName)
            case "first_name": document["first_name"] = .string(account.name.given)
            case "last_name": document["last_name"] = .string(account.name.family)
            case "short_name": document["short_name"] = .string(account.name.given)
            case "email" where permissions.contains("email") && account.emailVerified:
                document["email"] = .string(account.email)
            case "picture":
                document["picture"] = [
                    "data": [
                        "height": 50, "is_silhouette": false, "url": .string(FacebookProvider.picture(account)),
                        "width": 50,
                    ]
                ]
            default: break
            }
        }
        document["id"] = .string(account.facebook.id)
        return document
    }

    /// The names in a list of fields, without their parameters and subfields: `picture` of `picture.type(large){url,width}`.
    private func fieldNames(_ list: String) -> [String] {
        var names: [String] = []
        var field = ""
        var depth = 0
        for character in list + "," {
            if "({".contains(character) { depth += 1 }
            if ")}".contains(character) { depth -= 1 }
            if character == ",", depth == 0 {
                names.append(String(field.prefix { !".({ ".contains($0) }))
                field = ""
            } else {
                field.append(character)
            }
        }
        return names
    }

    static func picture(_ account: Account) -> String {
        "https://platform-lookaside.fbsbx.com/platform/profilepic/?asid=\(account.facebook.id)&height=50&width=50"
    }
}
