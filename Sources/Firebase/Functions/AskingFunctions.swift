import EmulatorCore
import JOSE
import JSON
import Worlds

// A project's functions are asked by posting {"data": {"jwt": …}}, outside the world's lock.
// https://cloud.google.com/identity-platform/docs/blocking-functions
//
// Quirks: for a new user two functions are asked, before the creation and before the sign-in. If a second factor is
// needed, the function is asked after it. A link to another provider counts as a sign-in. No function is asked for
// anonymous users, custom tokens and administrators. A function is asked before a mail that resets a password or signs
// in, even an administrator's, but not before a text to a test number. Production's answers were recorded in September
// 2026: https://github.com/t-k/fireemu, conformance/auth-tenant-blocking-production.json, programs blocking/….

/// A user who is about to be created: the user ID that the blocking function was told, and the changes that the
/// function made.
struct Creation: Sendable {
    fileprivate var localId: String?
    fileprivate var change = FunctionChange()

    /// Returns a new user with the ID that the blocking function was told; with a random ID if no function was called.
    func user(in pool: UserPool, _ tables: inout Transaction) -> User {
        User(localId: localId ?? User.randomID(&tables.random), in: pool, now: tables.now)
    }

    func finish(_ user: inout User) { change.apply(to: &user) }
}

/// A user whose sign-in the project's blocking functions have allowed, with the changes that the functions made.
struct AgreedSignIn: Sendable {
    let user: User
    /// The claims that the blocking function adds to the session's ID tokens.
    var claims = JSONObject()
}

extension FirebaseCall {
    /// The number of seconds in which a blocking function must answer.
    private static let patience = 7

    /// Runs the transaction `body`, which decides which user signs in, and calls the project's blocking functions about
    /// that user. If the project has blocking functions, `body` runs twice. The first run finds the user for the
    /// functions, and its changes aren't kept. The second run gets the answer of `beforeCreate`.
    ///
    /// - Parameters:
    ///   - asksForFactor: Whether a user with a second factor must pass it before the sign-in counts.
    ///   - who: A closure that gets the result of `body` and returns the user who signs in; `nil` if nobody does.
    func decide<Decision: Sendable>(
        _ event: SignInEvent, asksForFactor: Bool = true,
        _ body: (inout Transaction, Creation) throws -> Decision,
        who: (Decision) -> (user: User, isNew: Bool)?
    ) async throws -> (Decision, AgreedSignIn?) {
        func needsFactor(_ user: User) -> Bool {
            asksForFactor && !secondFactors(of: user, after: event.method).isEmpty
        }
        var creation = Creation()
        var change: FunctionChange?
        var asked: User?
        if !project.blockingFunctions.isEmpty, let draft = who(try draft(body)) {
            asked = draft.user
            if draft.isNew {
                try requireSignUp()
                creation = Creation(
                    localId: draft.user.localId, change: try await ask(.beforeCreate, about: draft.user, event))
            } else if !needsFactor(draft.user), !draft.user.disabled {
                change = try await ask(.beforeSignIn, about: draft.user, event)
            }
        }
        let (approved, expected) = (creation, asked)
        let decision = try update { tables -> Decision in
            let decision = try body(&tables, approved)
            guard expected == nil || expected?.localId == who(decision)?.user.localId else {
                throw FirebaseError(
                    "USER_NOT_FOUND",
                    because: "while the blocking function ran, another request changed the users, so that a different "
                        + "user or none would sign in: try again")
            }
            if who(decision)?.isNew ?? false {
                try requireSignUp()
                // The new user is counted already.
                try tables.checkRoom(for: 0, in: exchange.world)
                // A new user whom a function then refuses has signed in all the same. Recorded as
                // `blocking/rollback#lookup-refused-at-sign-in`.
                if !isInEmulatorMode, expected != nil, let user = who(decision)?.user { tables.recordSignIn(of: user) }
            }
            return decision
        }
        guard let (user, isNew) = who(decision) else { return (decision, nil) }
        if isNew { postEvent(.create, about: user) }
        guard !user.disabled else { throw FirebaseError.userIsDisabled(user) }
        if isNew, !needsFactor(user) { change = try await ask(.beforeSignIn, about: user, event) }
        return (decision, try agreed(user, change))
    }

    /// Calls the blocking function `beforeSignIn` about a user who has passed the first factor, unless a second factor
    /// must follow.
    func agreeing(_ user: User, _ event: SignInEvent) async throws -> AgreedSignIn {
        guard project.blockingFunctions.uri(of: .beforeSignIn) != nil,
            event.secondFactor != nil || secondFactors(of: user, after: event.method).isEmpty
        else { return AgreedSignIn(user: user) }
        return try agreed(user, try await ask(.beforeSignIn, about: user, event))
    }

    /// Runs the transaction `body`, undoes its changes, and returns its result.
    private func draft<Decision: Sendable>(
        _ body: (inout Transaction, Creation) throws -> Decision
    ) throws -> Decision {
        do {
            return try update { tables -> Decision in
                throw Undone(decision: try body(&tables, Creation()))
            }
        } catch let undone as Undone<Decision> {
            return undone.decision
        }
    }

    private func agreed(_ user: User, _ change: FunctionChange?) throws -> AgreedSignIn {
        guard let change else { return AgreedSignIn(user: user) }
        let changed = try update { tables -> User in
            var user = try tables.current(user)
            change.apply(to: &user)
            tables.put(user)
            return user
        }
        guard !changed.disabled else { throw FirebaseError.userIsDisabled(changed) }
        return AgreedSignIn(user: changed, claims: change.sessionClaims)
    }

    // MARK: - One function

    private func ask(
        _ event: BlockingFunctions.Event, about user: User, _ signIn: SignInEvent
    ) async throws -> FunctionChange {
        guard let uri = project.blockingFunctions.uri(of: event) else { return FunctionChange() }
        let answer = try await ask(uri) { try functionToken(event, for: uri, about: user, signIn) }
        return try FunctionChange(answer, to: event, inEmulatorMode: isInEmulatorMode)
    }

    /// Calls a blocking function before a mail or text message is sent. The function can only refuse: its answer about
    /// reCAPTCHA has no effect.
    func ask(_ event: BlockingFunctions.Event, aboutMessage claims: JSONObject) async throws {
        guard let uri = project.blockingFunctions.uri(of: event) else { return }
        _ = try await ask(uri) { try functionToken(event, for: uri, aboutMessage: claims) }
    }

    private func ask(_ uri: String, _ token: () throws -> String) async throws -> JSONObject {
        let body: JSONValue = ["data": ["jwt": .string(try token())]]
        let message = OutgoingMessage(to: uri, contentType: "application/json", body: Array(body.text.utf8))
        switch await exchange.ask(message, seconds: FirebaseCall.patience) {
        case .late where !isInEmulatorMode:
            // Recorded as `blocking/timeout#sign-up-slow-create`.
            throw FirebaseError.function(
                "Cloud function deadline exceeded.",
                "the function gave no answer within \(FirebaseCall.patience) seconds")
        case .late:
            throw FirebaseError.function(
                "((Deadline exceeded making request to \(uri).))",
                "the function gave no answer within \(FirebaseCall.patience) seconds", status: 500)
        case .failed(let reason):
            throw FirebaseError.function(
                "((Failed to make request to \(uri).))", "the function can't be asked: \(reason)", status: 500)
        case .answered(let answer):
            guard (200..<300).contains(answer.status) else { throw refusal(uri, answer) }
            guard let text = try? JSONValue(parsing: answer.body, limits: .answer), let object = text.object else {
                throw FirebaseError.function(
                    "((Response body is not valid JSON.))", "the function's answer isn't a JSON object", status: 500)
            }
            return object
        }
    }

    /// Returns the error for a blocking function that refused. The error contains the function's answer, because
    /// Firebase's SDKs show it to the app. The SDK for Apple platforms reads `error.message` in the function's answer.
    /// Outside emulator mode, the function's answer is left out if the function answered with status 429, or 500 or
    /// more. <https://github.com/firebase/firebase-js-sdk/issues/5386>
    private func refusal(_ uri: String, _ answer: OutgoingMessage.Answer) -> FirebaseError {
        // Recorded as `blocking/refusal#create-unavailable`, `#create-resource-exhausted` and `#create-unhandled`.
        if !isInEmulatorMode, answer.status >= 500 || answer.status == 429 {
            return FirebaseError(
                "Error code: 47", status: 503, reason: "backendError",
                because:
                    "the blocking function \(uri) failed with status \(answer.status): the app sees a function's own "
                    + "message only for a status from 400 to 499 except 429")
        }
        let text = String(decoding: answer.body, as: UTF8.self)
        let detail =
            exchange.isInEmulatorMode
            ? "((HTTP request to \(uri) returned HTTP error \(answer.status): \(text)))"
            : "HTTP Cloud Function returned an error: \(text)"
        return .function(detail, "the function \(uri) refused with status \(answer.status)")
    }
}

extension Transaction {
    fileprivate mutating func recordSignIn(of user: User) {
        guard var user = find(User.self, user.key) else { return }
        (user.lastLoginAt, user.lastRefreshAt) = (now, now)
        put(user)
    }
}

/// The result of a transaction, thrown as an error so that the transaction's changes aren't kept.
private struct Undone<Decision: Sendable>: Error {
    let decision: Decision
}
