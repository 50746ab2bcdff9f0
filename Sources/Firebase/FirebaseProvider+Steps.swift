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
            return Step(.service, "sign-in" + provider)
        }
        if let label = FirebaseProvider.signIns[method] ?? FirebaseProvider.signIns[name] {
            return Step(.service, label)
        }
        return FirebaseProvider.calls[method].map { Step(.api, $0) }
    }

    private static let pages: [(suffix: String, label: String)] = [
        ("/auth/handler", "sign-in handler"), ("/auth/iframe", "sign-in frame"), ("/auth/action", "link of an e-mail"),
        ("/emulator/action", "link of an e-mail"), ("/js/api.js", "script"), ("/gapi.js", "script"),
    ]

    /// Calls that sign somebody in, by their names in all versions.
    private static let signIns: [String: String] = [
        "signInWithPassword": "sign-in by password", "verifyPassword": "sign-in by password",
        "signInWithCustomToken": "sign-in by custom token", "verifyCustomToken": "sign-in by custom token",
        "signInWithEmailLink": "sign-in by e-mail link", "emailLinkSignin": "sign-in by e-mail link",
        "signInWithPhoneNumber": "sign-in by text message", "verifyPhoneNumber": "sign-in by text message",
        "signUp": "new user", "signupNewUser": "new user",
        "mfaSignIn:start": "second factor asked for", "mfaSignIn:finalize": "sign-in by second factor",
        "passkeySignIn:start": "passkey asked for", "passkeySignIn:finalize": "sign-in by passkey",
    ]

    private static let calls: [String: String] = [
        "createAuthUri": "provider's address asked for", "lookup": "user looked up", "getAccountInfo": "user looked up",
        "update": "user changed", "setAccountInfo": "user changed", "delete": "user deleted",
        "deleteAccount": "user deleted", "sendOobCode": "e-mail sent", "getOobConfirmationCode": "e-mail sent",
        "resetPassword": "password reset", "sendVerificationCode": "text message sent",
        "revokeToken": "provider's token revoked", "projects": "project's settings",
        "getProjectConfig": "project's settings",
    ]
}
