import EmulatorCore

/// What calls of the service are for, in a few words for the inspector.
extension FirebaseProvider {
    package var isService: Bool { true }

    package func step(of exchange: RecordedExchange, at operation: Operation?) -> Step? {
        let path = exchange.path
        if let word = FirebaseProvider.pages.first(where: { path.hasSuffix($0.suffix) })?.label {
            return Step(.page, word)
        }
        guard [FirebaseProvider.host, FirebaseProvider.legacyHost].contains(exchange.host) else { return nil }
        // The method's name follows the last colon in versions 1 and 2, and the last slash in version 3.
        let name = path.split(whereSeparator: { $0 == ":" || $0 == "/" }).suffix(2).joined(separator: ":")
        let method = path.split(whereSeparator: { $0 == ":" || $0 == "/" }).last.map(String.init) ?? ""
        if ["signInWithIdp", "verifyAssertion"].contains(method) {
            let provider = exchange.notes.request["providerid"].map { " by \($0)" } ?? " by a provider's credential"
            return Step(.service, "sign in" + provider)
        }
        if let label = FirebaseProvider.signIns[method] ?? FirebaseProvider.signIns[name] {
            return Step(.service, label)
        }
        return FirebaseProvider.calls[method].map { Step(.api, $0) }
    }

    private static let pages: [(suffix: String, label: String)] = [
        ("/auth/handler", "open the sign-in handler"), ("/auth/iframe", "open the sign-in frame"),
        ("/auth/action", "open an e-mail's link"),
        ("/emulator/action", "open an e-mail's link"), ("/js/api.js", "load the script"),
        ("/gapi.js", "load the script"),
    ]

    /// Calls that sign somebody in, by their names in all versions.
    private static let signIns: [String: String] = [
        "signInWithPassword": "sign in by password", "verifyPassword": "sign in by password",
        "signInWithCustomToken": "sign in by custom token", "verifyCustomToken": "sign in by custom token",
        "signInWithEmailLink": "sign in by e-mail link", "emailLinkSignin": "sign in by e-mail link",
        "signInWithPhoneNumber": "sign in by text message", "verifyPhoneNumber": "sign in by text message",
        "signUp": "sign up", "signupNewUser": "sign up",
        "mfaSignIn:start": "ask for a second factor", "mfaSignIn:finalize": "sign in by second factor",
        "passkeySignIn:start": "ask for a passkey", "passkeySignIn:finalize": "sign in by passkey",
    ]

    private static let calls: [String: String] = [
        "createAuthUri": "ask for the provider's address", "lookup": "look the user up",
        "getAccountInfo": "look the user up",
        "update": "change user", "setAccountInfo": "change user", "delete": "delete user",
        "deleteAccount": "delete user", "sendOobCode": "send e-mail", "getOobConfirmationCode": "send e-mail",
        "resetPassword": "reset password", "sendVerificationCode": "send text message",
        "revokeToken": "revoke the provider's token", "projects": "get the project's settings",
        "getProjectConfig": "get the project's settings",
    ]
}
