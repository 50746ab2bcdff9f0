import HTTPServer
import JSON
import EmulatorCore

// POST /graphql
//
// `gh auth login` uses it to ask who has signed in. Only that is served: `viewer` and its scalar fields, with aliases.
// Other fields are answered as GraphQL answers unknown ones.

extension GitHubProvider {
    static let graphQLEndpoint = RESTEndpoint(
        "POST", "/graphql", "", .signedIn, accepted: [.repo],
        source: .documented("https://docs.github.com/graphql/guides/forming-calls-with-graphql")
    ) { call in
        guard let account = call.viewer.account else { return call.notFound(because: "nobody is signed in") }
        guard let text = (try? JSONValue(parsing: call.exchange.request.body))?["query"]?.string else {
            return graphQLError(
                "A query attribute must be specified and must be a string.", status: 400,
                Diagnosis("the body must be JSON with a \"query\""))
        }
        let selections: [GraphQLSelection]
        do throws(GraphQLSyntaxError) { selections = try GraphQLSelection.parse(text) } catch {
            return graphQLError(error.message)
        }
        var data = JSONObject()
        for selection in selections {
            guard selection.field == "viewer" else {
                return graphQLError("Field '\(selection.field)' doesn't exist on type 'Query'")
            }
            var viewer = JSONObject()
            for inner in selection.selections {
                guard let value = field(inner.field, of: account, call) else {
                    return graphQLError("Field '\(inner.field)' doesn't exist on type 'User'")
                }
                viewer[inner.name] = value
            }
            data[selection.name] = .object(viewer)
        }
        return .ok(["data": .object(data)] as JSONValue)
    }

    private static func graphQLError(
        _ message: String, status: Int = 200, _ diagnosis: Diagnosis? = nil
    ) -> RESTAnswer {
        let errors: JSONValue = ["errors": [["message": .string(Place.shortened(message, to: 2_000))]]]
        var answer = RESTAnswer.ok(errors, status: status)
            .because(diagnosis ?? Diagnosis(expected: "viewer and its scalar fields", message))
        answer.message = message
        return answer
    }

    private static func field(_ name: String, of account: Account, _ call: RESTCall) -> JSONValue? {
        let user = UserDocument(account, call.base).full(isPrivate: false)
        switch name {
        case "__typename": return "User"
        case "login", "name", "company", "location", "bio": return user[name]
        case "id": return user["node_id"]
        case "databaseId": return user["id"]
        case "avatarUrl": return user["avatar_url"]
        case "url": return user["html_url"]
        case "email": return user["email"].map { $0.isNull ? "" : $0 }
        case "createdAt": return user["created_at"]
        case "updatedAt": return user["updated_at"]
        case "websiteUrl": return user["blog"]
        case "twitterUsername": return user["twitter_username"]
        case "isSiteAdmin": return user["site_admin"]
        default: return nil
        }
    }
}

struct GraphQLSyntaxError: Error {
    let message: String
}

/// A field of a query, with the selections below it.
struct GraphQLSelection: Sendable {
    let name: String
    let field: String
    let selections: [GraphQLSelection]

    /// Parses the selections of a query. Arguments, fragments and mutations aren't supported.
    static func parse(_ text: String) throws(GraphQLSyntaxError) -> [GraphQLSelection] {
        var tokens = tokens(of: text)[...]
        if tokens.first == "query" {
            tokens = tokens.dropFirst()
            if let name = tokens.first, name != "{" { tokens = tokens.dropFirst() }
        }
        let selections = try set(&tokens, depth: 0)
        guard let rest = tokens.first else { return selections }
        throw GraphQLSyntaxError(message: "Parse error on \"\(rest)\"")
    }

    private static func set(
        _ tokens: inout ArraySlice<String>, depth: Int
    ) throws(GraphQLSyntaxError) -> [GraphQLSelection] {
        guard tokens.popFirst() == "{", depth < 16 else {
            throw GraphQLSyntaxError(message: "Parse error: expected \"{\"")
        }
        var selections: [GraphQLSelection] = []
        while let token = tokens.popFirst() {
            if token == "}" { return selections }
            guard token.first?.isLetter ?? false || token.hasPrefix("_") else {
                throw GraphQLSyntaxError(message: "Parse error on \"\(token)\"")
            }
            var field = token
            if tokens.first == ":" {
                tokens = tokens.dropFirst()
                field = tokens.popFirst() ?? ""
            }
            let inner = tokens.first == "{" ? try set(&tokens, depth: depth + 1) : []
            selections.append(GraphQLSelection(name: token, field: field, selections: inner))
        }
        throw GraphQLSyntaxError(message: "Parse error: expected \"}\"")
    }

    private static func tokens(of text: String) -> [String] {
        var tokens: [String] = []
        var word = ""
        for character in text {
            if character.isLetter || character.isNumber || character == "_" {
                word.append(character)
                continue
            }
            if !word.isEmpty { tokens.append(word) }
            word = ""
            if !character.isWhitespace, character != "," { tokens.append(String(character)) }
        }
        return word.isEmpty ? tokens : tokens + [word]
    }
}
