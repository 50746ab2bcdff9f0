import Foundation
import HTTPServer
import Synchronization
import TestSupport
import Testing

/// Production's recorded answers: auth-tenant-blocking-production.json; see RecordedCalls.swift.
@Suite("Firebase: blocking functions as production was recorded")
struct RecordedBlockingTests {
    /// The function's answers, by event.
    private final class Answers: Sendable {
        let all = Mutex<[String: (status: Int, body: String)]>([:])

        func set(_ event: String, _ status: Int, _ body: String) { all.withLock { $0[event] = (status, body) } }
    }

    private let fixture: FirebaseFixture
    private let receiver: Receiver
    private let answers: Answers
    private static let events = ["beforeCreate", "beforeSignIn", "beforeSendEmail", "beforeSendSms"]

    init() throws {
        let answers = Answers()
        self.answers = answers
        receiver = try Receiver { request in
            let event = FunctionSetup.claims(request)["event_type"] as? String ?? ""
            let (status, body) = answers.all.withLock { $0[event] } ?? (200, "{}")
            return .now(Response(status: status, contentType: "application/json", body: body))
        }
        fixture = try .recorded(#","mfa":{"state":"ENABLED","providers":["phone"]}"#)
        let triggers = Dictionary(
            uniqueKeysWithValues: RecordedBlockingTests.events.map { ($0, ["functionUri": receiver.url]) })
        let set = try fixture.owner(
            "PATCH", "admin/v2/projects/demo-app/config?updateMask=blockingFunctions",
            ["blockingFunctions": ["triggers": triggers]])
        #expect(set.status == 200, "\(set)")
    }

    private func asked(_ event: String) -> [[String: Any]] {
        receiver.requests.map(FunctionSetup.claims).filter { $0["event_type"] as? String == event }
    }

    private func signUp(_ name: String) throws -> Answer {
        try fixture.app(
            "v1/accounts:signUp",
            ["email": "\(name)@example.com", "password": "password123", "returnSecureToken": true])
    }

    @Test("all four events are configured, and each trigger says since when")
    func configuration() throws {
        // blocking/config#config-blocking
        let config = try fixture.owner("GET", "admin/v2/projects/demo-app/config")
        let functions = config.json["blockingFunctions"] as? [String: Any]
        #expect((functions?["forwardInboundCredentials"] as? [String: Any])?.isEmpty == true)
        let triggers = functions?["triggers"] as? [String: [String: String]] ?? [:]
        #expect(triggers.keys.sorted() == RecordedBlockingTests.events.sorted(), "\(config)")
        for trigger in triggers.values {
            #expect(trigger["functionUri"] == receiver.url)
            #expect(trigger["updateTime"]?.hasSuffix("Z") == true)
        }
    }

    @Test("a refusal reaches the app; a failure of the function is the service's own")
    func refusals() throws {
        // blocking/refusal
        for (status, name) in [(403, "PERMISSION_DENIED"), (400, "INVALID_ARGUMENT")] {
            let body = #"{"error":{"message":"atb c refused","status":"\#(name)"}}"#
            answers.set("beforeCreate", status, body)
            let refused = try signUp("a")
            #expect(refused.status == 400)
            #expect(
                refused.message
                    == "BLOCKING_FUNCTION_ERROR_RESPONSE : HTTP Cloud Function returned an error: \(body)")
        }
        for (status, name) in [(503, "UNAVAILABLE"), (429, "RESOURCE_EXHAUSTED"), (500, "INTERNAL")] {
            answers.set("beforeCreate", status, #"{"error":{"message":"x","status":"\#(name)"}}"#)
            let failed = try signUp("a")
            #expect(failed.status == 503 && failed.message == "Error code: 47", "\(failed)")
            let errors = (failed.json["error"] as? [String: Any])?["errors"] as? [[String: String]]
            #expect(errors == [["message": "Error code: 47", "domain": "global", "reason": "backendError"]])
            #expect(failed.errorStatus == nil && failed.diagnosis.contains("\(status)"))
        }
        #expect(try fixture.accounts("lookup", ["email": ["a@example.com"]]).json["users"] == nil)
    }

    @Test("what firebase-functions calls photoURL isn't saved, and what a user lacks isn't told")
    func records() throws {
        // blocking/ordering#sign-up-profile
        answers.set(
            "beforeCreate", 200,
            #"{"userRecord":{"updateMask":"displayName,photoURL","displayName":"A","photoURL":"https://example.com/a.png"}}"#
        )
        let made = try signUp("o1")
        #expect(made["displayName"] == "A" && made.claims()["picture"] == nil, "\(made)")
        // blocking/events#sign-up-password, #phone-sign-in-new
        let record = try #require(asked("beforeCreate").first?["user_record"] as? [String: Any])
        #expect(record["custom_claims"] == nil && record["email_verified"] as? Bool == false)
        let sent = try fixture.app("v1/accounts:sendVerificationCode", ["phoneNumber": "+16505550104"])
        let phone = try fixture.app(
            "v1/accounts:signInWithPhoneNumber", ["sessionInfo": sent["sessionInfo"] ?? "", "code": "123456"])
        #expect(phone.status == 200)
        let other = try #require(asked("beforeSignIn").last?["user_record"] as? [String: Any])
        #expect(other["phone_number"] as? String == "+16505550104" && other["email_verified"] == nil)
    }

    @Test("mails for a new password and for a sign-in are asked about, other mails aren't")
    func mails() throws {
        _ = try fixture.accounts("", ["email": "s1@example.com", "password": "password123"])
        func send(_ type: String, _ more: [String: Any] = [:]) throws -> Answer {
            try fixture.app(
                "v1/accounts:sendOobCode",
                ["requestType": type, "email": "s1@example.com"].merging(more) { $1 })
        }
        // blocking/send#reset-mail-blocked: the answer's part about reCAPTCHA prevents nothing
        answers.set("beforeSendEmail", 200, #"{"recaptchaActionOverride":"BLOCK"}"#)
        #expect(try send("PASSWORD_RESET").status == 200)
        let told = try #require(asked("beforeSendEmail").first)
        // blocking/send#reset-mail-echo: the function gets neither a user nor a method
        #expect(told["email"] as? String == "s1@example.com" && told["email_type"] as? String == "PASSWORD_RESET")
        for name in ["user_record", "sub", "sign_in_method", "tenant_id"] { #expect(told[name] == nil, "\(name)") }
        // blocking/send#reset-mail-refused, #admin-reset-link-echo
        let body = #"{"error":{"message":"atb e refused","status":"PERMISSION_DENIED"}}"#
        answers.set("beforeSendEmail", 403, body)
        let refusal = "BLOCKING_FUNCTION_ERROR_RESPONSE : HTTP Cloud Function returned an error: \(body)"
        #expect(try send("PASSWORD_RESET").message == refusal)
        #expect(
            try fixture.accounts(
                "sendOobCode", ["requestType": "PASSWORD_RESET", "email": "s1@example.com", "returnOobLink": true]
            ).message == refusal)
        // blocking/send#link-mail-echo-in-tenant: the function is asked even about an unknown address
        let tenant = try fixture.owner(
            "POST", "v2/projects/demo-app/tenants", ["displayName": "atb-blk-send", "enableEmailLinkSignin": true])
        let id = tenant["name"]?.components(separatedBy: "/").last ?? ""
        let link = try send(
            "EMAIL_SIGNIN",
            ["email": "s4@example.com", "tenantId": id, "continueUrl": "https://demo-app.firebaseapp.com/finish"])
        #expect(link.message == refusal, "\(link)")
        #expect(asked("beforeSendEmail").last?["email_type"] as? String == "EMAIL_SIGN_IN")
        #expect(asked("beforeSendEmail").last?["tenant_id"] == nil)
        // blocking/send#verify-mail-echo
        let count = asked("beforeSendEmail").count
        let idToken =
            try fixture.app(
                "v1/accounts:signInWithPassword",
                ["email": "s1@example.com", "password": "password123", "returnSecureToken": true])["idToken"] ?? ""
        #expect(try send("VERIFY_EMAIL", ["idToken": idToken]).status == 200)
        #expect(asked("beforeSendEmail").count == count)
        #expect(try fixture.mail("s1@example.com")["requestType"] as? String == "VERIFY_EMAIL")
    }

    @Test("texts are asked about with their purpose, but for those to test numbers")
    func texts() throws {
        // blocking/send#sms-echo, #sms-plain: no function is asked about test numbers
        answers.set("beforeSendSms", 403, #"{"error":{"message":"no","status":"PERMISSION_DENIED"}}"#)
        #expect(try fixture.app("v1/accounts:sendVerificationCode", ["phoneNumber": "+16505550106"]).status == 200)
        #expect(asked("beforeSendSms").isEmpty)
        // The names are those of firebase-functions: src/common/providers/identity.ts.
        let refused = try fixture.app("v1/accounts:sendVerificationCode", ["phoneNumber": "+16505550199"])
        #expect(refused.errorCode == "BLOCKING_FUNCTION_ERROR_RESPONSE", "\(refused)")
        #expect(try fixture.message("+16505550199") == "")
        #expect(asked("beforeSendSms").last?["sms_type"] as? String == "SIGN_IN_OR_SIGN_UP")
        #expect(asked("beforeSendSms").last?["phone_number"] as? String == "+16505550199")
        _ = try fixture.accounts(
            "",
            [
                "email": "m@example.com", "password": "password123", "emailVerified": true,
                "mfaInfo": [["phoneInfo": "+16505550198"]],
            ])
        let first = try fixture.app(
            "v1/accounts:signInWithPassword", ["email": "m@example.com", "password": "password123"])
        let factor = (first.json["mfaInfo"] as? [[String: Any]])?.first?["mfaEnrollmentId"] ?? ""
        let start = try fixture.app(
            "v2/accounts/mfaSignIn:start",
            [
                "mfaPendingCredential": first["mfaPendingCredential"] ?? "", "mfaEnrollmentId": factor,
                "phoneSignInInfo": [String: String](),
            ])
        #expect(start.errorCode == "BLOCKING_FUNCTION_ERROR_RESPONSE", "\(start)")
        #expect(asked("beforeSendSms").last?["sms_type"] as? String == "MULTI_FACTOR_SIGN_IN")
        answers.set("beforeSendSms", 200, "{}")
        _ = try fixture.accounts(
            "", ["email": "n@example.com", "password": "password123", "emailVerified": true])
        let idToken =
            try fixture.app(
                "v1/accounts:signInWithPassword",
                ["email": "n@example.com", "password": "password123", "returnSecureToken": true])["idToken"] ?? ""
        let enrolment = try fixture.app(
            "v2/accounts/mfaEnrollment:start",
            ["idToken": idToken, "phoneEnrollmentInfo": ["phoneNumber": "+16505550197"]])
        #expect(enrolment.status == 200, "\(enrolment)")
        #expect(asked("beforeSendSms").last?["sms_type"] as? String == "MULTI_FACTOR_ENROLLMENT")
        #expect(try fixture.message("+16505550197") != "")
    }
}
