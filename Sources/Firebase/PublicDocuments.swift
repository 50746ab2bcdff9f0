import EmulatorCore
import HTTPServer
import JSON

// What anybody may read before a sign-in: a project's configuration, whether reCAPTCHA is asked for, and the keys.

extension FirebaseProvider {
    static func configuration(_ call: FirebaseCall) -> FirebaseAnswer {
        let domains = call.project.returnDomains
        return FirebaseAnswer(
            body: JSONObject([
                ("projectId", .string(call.project.number)),
                ("authorizedDomains", .array(domains.map { .string($0) })),
            ]))
    }

    /// reCAPTCHA is never asked for.
    static func recaptcha() -> FirebaseAnswer {
        let states = ["EMAIL_PASSWORD_PROVIDER", "PHONE_PROVIDER"].map { provider -> JSONValue in
            ["provider": .string(provider), "enforcementState": "OFF"]
        }
        return FirebaseAnswer(body: JSONObject([("recaptchaEnforcementState", .array(states))]))
    }

    static func recaptchaParameters() -> FirebaseAnswer {
        FirebaseAnswer(
            body: JSONObject([
                ("kind", "identitytoolkit#GetRecaptchaParamResponse"),
                ("recaptchaStoken", "This-is-a-fake-token__Dont-send-this-to-the-Recaptcha-service__Understudy"),
                ("recaptchaSiteKey", "Fake-key__Do-not-send-this-to-Recaptcha_"),
            ]))
    }

    func keySet(_ exchange: Exchange) -> Response {
        FirebaseProvider.cached(exchange.keySet(.firebase))
    }

    func certificates(_ exchange: Exchange) -> Response {
        do {
            let name = "securetoken.system.gserviceaccount.com"
            return FirebaseProvider.cached(try exchange.certificates(.firebase, commonName: name))
        } catch {
            return FirebaseError("INTERNAL_ERROR", status: 500, because: error.description).response(.list)
        }
    }

    private static func cached(_ value: JSONValue) -> Response {
        Response(
            status: 200, contentType: "application/json; charset=UTF-8",
            headers: [(name: "Cache-Control", value: "public, max-age=19800, must-revalidate, no-transform")],
            body: value.serialized())
    }
}
