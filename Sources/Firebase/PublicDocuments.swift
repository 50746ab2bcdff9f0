import EmulatorCore
import HTTPServer
import JSON

// Documents that anybody may read before a sign-in: a project's configuration, the settings of reCAPTCHA, and the keys.

extension FirebaseProvider {
    static func configuration(_ call: FirebaseCall) -> FirebaseAnswer {
        let domains = call.project.returnDomains
        return FirebaseAnswer(
            body: JSONObject([
                ("projectId", .string(call.project.number)),
                ("authorizedDomains", .array(domains.map { .string($0) })),
            ]))
    }

    private static let clientTypes = [
        "CLIENT_TYPE_UNSPECIFIED", "CLIENT_TYPE_WEB", "CLIENT_TYPE_ANDROID", "CLIENT_TYPE_IOS",
    ]

    /// Says that reCAPTCHA isn't used. Production's words for that have no key, which makes the web SDK fail
    /// (`initializeRecaptchaConfig`): at the daemon's own address the answer has a key, which loads nothing.
    ///
    /// Recorded as `config/read#recaptcha-web`: https://github.com/t-k/fireemu, conformance/auth-config-sdk-production.json.
    static func recaptcha(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        let isInEmulatorMode = call.isInEmulatorMode
        let state: JSONValue = isInEmulatorMode ? "OFF" : "ENFORCEMENT_STATE_UNSPECIFIED"
        let states = ["EMAIL_PASSWORD_PROVIDER", "PHONE_PROVIDER"].map { provider -> JSONValue in
            ["provider": .string(provider), "enforcementState": state]
        }
        var body = JSONObject()
        if isInEmulatorMode {
            body["recaptchaKey"] = .string("projects/\(call.project.number)/keys/understudy")
        } else {
            let query = call.exchange.request.queryForm
            let type = query["clientType"] ?? clientTypes[0]
            guard clientTypes.contains(type) else {
                var error = FirebaseError.wrongType(
                    "client_type", "type.googleapis.com/google.cloud.identitytoolkit.v2.ClientType", .string(type))
                error.listsError = true
                throw error
            }
            guard type != clientTypes[0] else {
                throw FirebaseError("MISSING_CLIENT_TYPE", because: "send clientType, such as CLIENT_TYPE_WEB")
            }
            guard query["version"].map({ !$0.isEmpty }) ?? false else {
                throw FirebaseError("MISSING_RECAPTCHA_VERSION", because: "send version=RECAPTCHA_ENTERPRISE")
            }
        }
        body["recaptchaEnforcementState"] = .array(states)
        if !isInEmulatorMode {
            body.merge(JSONObject([("useSmsBotScore", false), ("useSmsTollFraudProtection", false)]))
        }
        return FirebaseAnswer(body: body)
    }

    static func recaptchaParameters(_ call: FirebaseCall) -> FirebaseAnswer {
        FirebaseAnswer(
            body: JSONObject([
                ("kind", "identitytoolkit#GetRecaptchaParamResponse"),
                ("recaptchaStoken", "This-is-a-fake-token__Dont-send-this-to-the-Recaptcha-service__Understudy"),
                ("recaptchaSiteKey", "Fake-key__Do-not-send-this-to-Recaptcha_"),
                ("producerProjectNumber", .string(call.project.number)),
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
