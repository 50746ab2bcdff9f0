import EmulatorCore

extension FirebaseProvider {
    package var endpointNames: [String: String] {
        let accounts = [
            "signInWithIdp": "sign in with a provider's credential", "createAuthUri": "begin a provider's sign-in",
            "signUp": "sign up", "signInWithPassword": "sign in with a password",
            "signInWithCustomToken": "sign in with a custom token", "signInWithEmailLink": "sign in with a link",
            "sendOobCode": "send a mail", "resetPassword": "reset a password",
            "sendVerificationCode": "send a text", "signInWithPhoneNumber": "sign in with a phone's code",
            "lookup": "who is signed in", "update": "change a user", "delete": "delete a user",
        ]
        var names = [
            "POST /v1/token": "refresh a session", "POST /v2/accounts:revokeToken": "revoke a provider's token",
            "POST /v2/accounts/mfaSignIn:start": "ask for a second factor",
            "POST /v2/accounts/mfaSignIn:finalize": "give a second factor",
            "GET /v1/projects": "the project's settings", "GET /emulator/auth/handler": "pop-ups and redirects",
        ]
        for (method, name) in accounts { names["POST /v1/accounts:\(method)"] = name }
        return names
    }
}
