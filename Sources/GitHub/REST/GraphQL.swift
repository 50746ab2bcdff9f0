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
        guard let account = call.viewer.account else {
            return call.notFound(because: "no user is signed in: send a user's access token")
        }
        guard let text = (try? JSONValue(parsing: call.exchange.request.body))?["query"]?.string else {
            return graphQLError(
                "A query attribute must be specified and must be a string.", status: 400,
                Diagnosis("the request body must be a JSON object with the member \"query\""))
        }
        let operation: GraphQLOperation
        do throws(GraphQLError) { operation = try GraphQLOperation(text) } catch { return refusal([error]) }
        let user = UserDocument(account, call.base).full(isPrivate: false)
        var errors: [GraphQLError] = []
        func add(_ error: @autoclosure () -> GraphQLError) {
            if errors.count < errorLimit { errors.append(error()) }
        }
        var data = JSONObject()
        for selection in operation.selections {
            let path = [operation.name, selection.name]
            guard selection.field == "viewer" else {
                add(.undefined(selection, on: "Query", at: path))
                continue
            }
            var viewer = JSONObject()
            for inner in selection.selections {
                let path = path + [inner.name]
                if let value = field(inner.field, of: user) {
                    viewer[inner.name] = value
                    if !inner.selections.isEmpty { add(.scalar(inner, at: path)) }
                } else {
                    add(.undefined(inner, on: "User", at: path))
                }
            }
            if selection.selections.isEmpty { add(.bare(selection, at: path)) }
            data[selection.name] = .object(viewer)
        }
        return errors.isEmpty ? .ok(["data": .object(data)] as JSONValue) : refusal(errors)
    }

    /// The greatest number of errors in a GraphQL response.
    private static let errorLimit = 100

    /// Returns the error response to a GraphQL query. GitHub lists all errors of a query that it can parse.
    private static func refusal(_ errors: [GraphQLError]) -> RESTAnswer {
        graphQLErrors(
            errors.map(\.json),
            Diagnosis(expected: "a query of viewer and its scalar fields", errors.first?.message ?? ""),
            errors.first?.message)
    }

    private static func graphQLError(_ message: String, status: Int, _ diagnosis: Diagnosis) -> RESTAnswer {
        graphQLErrors([["message": .string(message)]], status: status, diagnosis, message)
    }

    private static func graphQLErrors(
        _ errors: [JSONValue], status: Int = 200, _ diagnosis: Diagnosis, _ message: String?
    ) -> RESTAnswer {
        var answer = RESTAnswer.ok(["errors": .array(errors)] as JSONValue, status: status).because(diagnosis)
        answer.message = message
        return answer
    }

    /// Returns the value of a field of GraphQL's `User`; `nil` if the field isn't supported. `user` is the public
    /// profile, as in the response of `GET /users/LOGIN`.
    private static func field(_ name: String, of user: JSONObject) -> JSONValue? {
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

/// An error in a GraphQL query, in the form of graphql-ruby, with which GitHub's API is made.
struct GraphQLError: Error {
    let message: String
    /// The line and the column of the error in the GraphQL query, both from 1; `nil` at the end of the query.
    let position: (line: Int, column: Int)?
    /// The names from the GraphQL operation down to the field with the error; empty for a query that can't be parsed.
    var path: [String] = []
    var extensions: [(String, JSONValue)] = []

    private init(
        _ message: String, _ selection: GraphQLSelection, _ path: [String], _ extensions: [(String, JSONValue)]
    ) {
        (self.message, position, self.path, self.extensions) = (message, selection.position, path, extensions)
    }

    init(unexpected token: GraphQLToken?) {
        // graphql-ruby names the kinds of tokens so.
        let kinds = [
            "{": "LCURLY", "}": "RCURLY", "(": "LPAREN", ")": "RPAREN", "[": "LBRACKET", "]": "RBRACKET", ":": "COLON",
            "!": "BANG", "=": "EQUALS", "$": "VAR_SIGN", "@": "DIR_SIGN", "|": "PIPE", "&": "AMP",
        ]
        position = token.map { ($0.line, $0.column) }
        message =
            token.map {
                let kind = kinds[$0.text] ?? ($0.isName ? "IDENTIFIER" : "UNKNOWN_CHAR")
                return
                    "Parse error on \"\(BoundedText.shortened($0.text, to: 500))\" (\(kind)) at [\($0.line), \($0.column)]"
            } ?? "Unexpected end of document"
    }

    /// Returns the GraphQL error for a field that the type doesn't have.
    static func undefined(_ selection: GraphQLSelection, on type: String, at path: [String]) -> GraphQLError {
        let name = BoundedText.shortened(selection.field, to: 500)
        return GraphQLError(
            "Field '\(name)' doesn't exist on type '\(type)'", selection, path,
            [("code", "undefinedField"), ("typeName", .string(type)), ("fieldName", .string(name))])
    }

    /// Returns the GraphQL error for a query that selects a field of an object type, but no fields inside the object.
    static func bare(_ selection: GraphQLSelection, at path: [String]) -> GraphQLError {
        let name = selection.field
        return GraphQLError(
            "Field must have selections (field '\(name)' returns User but has no selections. Did you mean '\(name) { ... }'?)",
            selection, path,
            [("code", "selectionMismatch"), ("nodeName", .string("field '\(name)'")), ("typeName", "User")])
    }

    /// Returns the GraphQL error for a query that selects fields inside a scalar field.
    static func scalar(_ selection: GraphQLSelection, at path: [String]) -> GraphQLError {
        let (name, type) = (selection.field, GraphQLSelection.scalarTypes[selection.field] ?? "String")
        let names = selection.selections.prefix(10).map { "\"\(BoundedText.shortened($0.name, to: 100))\"" }
        return GraphQLError(
            "Selections can't be made on scalars (field '\(name)' returns \(type) but has selections "
                + "[\(names.joined(separator: ", "))])",
            selection, path,
            [("code", "selectionMismatch"), ("nodeName", .string("field '\(name)'")), ("typeName", .string(type))])
    }

    var json: JSONValue {
        var object = JSONObject()
        if !path.isEmpty { object["path"] = .array(path.map { .string(BoundedText.shortened($0, to: 500)) }) }
        if !extensions.isEmpty { object["extensions"] = .object(JSONObject(extensions)) }
        object["locations"] = .array(
            position.map { [["line": .integer(Int64($0.line)), "column": .integer(Int64($0.column))]] } ?? [])
        object["message"] = .string(message)
        return .object(object)
    }
}

struct GraphQLOperation: Sendable {
    /// The first element of the paths in GraphQL errors: `query`, or `query NAME`.
    let name: String
    let selections: [GraphQLSelection]

    /// Parses a GraphQL query. Arguments, fragments and mutations aren't supported.
    init(_ text: String) throws(GraphQLError) {
        var tokens = GraphQLToken.tokens(of: text)[...]
        var name = "query"
        if tokens.first?.text == "query" {
            tokens = tokens.dropFirst()
            if let own = tokens.first, own.isName {
                name += " \(own.text)"
                tokens = tokens.dropFirst()
            }
        }
        self.name = name
        selections = try GraphQLSelection.set(&tokens, depth: 0)
        if let rest = tokens.first { throw GraphQLError(unexpected: rest) }
    }
}

/// A field in a GraphQL query, with the fields selected below it.
struct GraphQLSelection: Sendable {
    /// The name of the field in the GraphQL response: its alias, or the field's own name.
    let name: String
    let field: String
    let position: (line: Int, column: Int)
    let selections: [GraphQLSelection]

    /// The types of those fields of GraphQL's `User` that aren't `String`:
    /// <https://docs.github.com/graphql/reference/objects#user>.
    static let scalarTypes = [
        "id": "ID", "databaseId": "Int", "avatarUrl": "URI", "url": "URI", "websiteUrl": "URI", "createdAt": "DateTime",
        "updatedAt": "DateTime", "isSiteAdmin": "Boolean",
    ]

    fileprivate static func set(
        _ tokens: inout ArraySlice<GraphQLToken>, depth: Int
    ) throws(GraphQLError) -> [GraphQLSelection] {
        guard let open = tokens.popFirst() else { throw GraphQLError(unexpected: nil) }
        guard open.text == "{", depth < 16 else { throw GraphQLError(unexpected: open) }
        var selections: [GraphQLSelection] = []
        while let token = tokens.popFirst() {
            if token.text == "}" {
                if selections.isEmpty { throw GraphQLError(unexpected: token) }
                return selections
            }
            guard token.isName else { throw GraphQLError(unexpected: token) }
            var field = token
            if tokens.first?.text == ":" {
                tokens = tokens.dropFirst()
                let aliased = tokens.popFirst()
                guard let aliased, aliased.isName else { throw GraphQLError(unexpected: aliased) }
                field = aliased
            }
            let inner = tokens.first?.text == "{" ? try set(&tokens, depth: depth + 1) : []
            selections.append(
                GraphQLSelection(
                    name: token.text, field: field.text, position: (token.line, token.column), selections: inner))
        }
        throw GraphQLError(unexpected: nil)
    }
}

/// A name or a punctuation mark of a GraphQL query, with its line and column, both from 1.
struct GraphQLToken: Sendable {
    let text: String
    let line: Int
    let column: Int

    var isName: Bool { text.first.map { $0 == "_" || $0.isASCII && $0.isLetter } ?? false }

    fileprivate static func tokens(of text: String) -> [GraphQLToken] {
        var tokens: [GraphQLToken] = []
        var word = ""
        var (line, column) = (1, 1)
        func endWord(_ column: Int) {
            guard !word.isEmpty else { return }
            tokens.append(GraphQLToken(text: word, line: line, column: column - word.count))
            word = ""
        }
        for character in text {
            if character == "_" || character.isASCII && (character.isLetter || character.isNumber) {
                word.append(character)
            } else {
                endWord(column)
                if !character.isWhitespace, character != "," {
                    tokens.append(GraphQLToken(text: String(character), line: line, column: column))
                }
            }
            (line, column) = character.isNewline ? (line + 1, 1) : (line, column + 1)
        }
        endWord(column)
        return tokens
    }
}
