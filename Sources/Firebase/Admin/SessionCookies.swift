import JOSE
import JSON
import EmulatorCore
import Time

// The method projects/P:createSessionCookie: https://firebase.google.com/docs/auth/admin/manage-cookies

extension FirebaseProvider {
    func createSessionCookie(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        let idToken = try call.text("idToken")
        _ = try call.signedIn(idToken, takesLegacy: false)
        let duration = try call.integer("validDuration") ?? 1_209_600
        guard (300...1_209_600).contains(duration) else {
            throw FirebaseError(
                "INVALID_DURATION",
                because: "validDuration is \(duration) seconds: five minutes to two weeks are allowed")
        }
        guard let token = idToken.flatMap({ try? JWS(parsing: $0) }) else {
            throw FirebaseError("INVALID_ID_TOKEN", because: "idToken can't be parsed as a JWT")
        }
        let now = call.exchange.world.now
        var claims = token.claims
        claims["iss"] = .string("https://session.firebase.google.com/\(call.project.id)")
        claims["iat"] = .numericDate(now)
        claims["exp"] = .numericDate(now + .seconds(duration))
        return FirebaseAnswer(["sessionCookie": try call.mint(claims, at: now)])
    }
}
