import Foundation
import TestSupport
import Testing
import Understudy

/// Orders that name an unknown client, account or error are refused, with suggestions.
@Suite("Names in orders") struct UnknownNameTests {
    let fixture: FaultFixture

    init() throws { fixture = try FaultFixture() }

    @Test(
        "a name that nobody knows is refused with its place, and with what is meant",
        arguments: [
            (
                "outcomes", #"{"provider":"apple","client":"com.example.webb","outcome":"approve"}"#, "$.client",
                #"did you mean "com.example.web"?"#
            ),
            (
                "outcomes", #"{"provider":"apple","client":"1234567890","outcome":"approve"}"#, "$.client",
                "this ID belongs to a client at facebook"
            ),
            ("outcomes", #"{"provider":"openid","client":"x","outcome":"approve"}"#, "$.client", "there are: "),
            (
                "outcomes", #"{"provider":"apple","account":"adda","outcome":"approve"}"#, "$.account",
                #"did you mean "ada"?"#
            ),
            (
                "outcomes", #"{"provider":"apple","outcome":"error","error":"user_canceled_authorize"}"#, "$.error",
                #"did you mean "user_cancelled_authorize"?"#
            ),
            (
                "outcomes", #"{"provider":"github","outcome":"error","error":"acess_denied"}"#, "$.error",
                #"did you mean "access_denied"?"#
            ),
            (
                "outcomes", #"{"provider":"openid","outcome":"error","error":"login_requierd"}"#, "$.error",
                #"did you mean "login_required"?"#
            ),
            (
                "outcomes", #"{"provider":"google","outcome":"error","error":"whatever"}"#, "$.error",
                "access_denied"
            ),
            (
                "faults", #"{"match":{"host":"github.com","client":"Iv1.0123456789abcdeg"},"effect":{"status":500}}"#,
                "$.match.client", #"did you mean "Iv1.0123456789abcdef"?"#
            ),
            (
                "faults", #"{"match":{"client":"com.example.webb"},"effect":{"status":500}}"#, "$.match.client",
                "com.example.web"
            ),
            (
                "faults",
                #"{"match":{"path":"/v1/accounts:signUp"},"effect":{"error":"TOO_MANY_ATTEMTPS_TRY_LATER"}}"#,
                "$.effect.error", #"did you mean "TOO_MANY_ATTEMPTS_TRY_LATER"?"#
            ),
            (
                "faults", #"{"match":{"path":"/v1/accounts:signUp"},"effect":{"error":"NO_SUCH_CODE_AT_ALL"}}"#,
                "$.effect.error", #"the error "NO_SUCH_CODE_AT_ALL" isn't known at POST"#
            ),
            (
                "faults",
                #"{"match":{"host":"appleid.apple.com","path":"/auth/token"},"effect":{"error":"invalid_grnt"}}"#,
                "$.effect.error",
                #"the error "invalid_grnt" isn't known at POST appleid.apple.com/auth/token; did you mean"#
            ),
            (
                "faults", #"{"match":{"path":"/appleid.apple.com/auth/keys"},"effect":{"status":500}}"#, "$.match.path",
                #"write "host": "appleid.apple.com", "path": "/auth/keys""#
            ),
            (
                "faults", #"{"match":{"path":"/appleid.apple.com/auth/*"},"effect":{"status":500}}"#, "$.match.path",
                #"write "host": "appleid.apple.com", "path": "/auth/*""#
            ),
            (
                "faults", #"{"match":{"path":"/auth/kyes"},"effect":{"status":500}}"#, "$.match.path",
                #"did you mean "/auth/keys"?"#
            ),
            (
                "faults", #"{"match":{"path":"/aaaa/bbbb/cccc/dddd/eeee"},"effect":{"status":500}}"#, "$.match.path",
                "GET endpoints lists all paths"
            ),
        ])
    func refused(call: String, order: String, path: String, words: String) throws {
        let answer = try fixture.client.request("POST", "\(FaultFixture.api)/\(call)", body: Array(order.utf8))
        #expect(answer.status == 400, "\(answer)")
        let error = answer.json["error"] as? [String: Any]
        #expect(error?["path"] as? String == path)
        #expect((error?["message"] as? String)?.contains(words) == true, "\(answer)")
        #expect(try fixture.faults().isEmpty)
    }

    @Test(
        "names that are known beside the listed ones are taken",
        arguments: [
            // The code is known to the SDKs:
            // https://github.com/firebase/firebase-js-sdk/blob/main/packages/auth/src/api/errors.ts
            ("faults", #"{"match":{"path":"/v1/accounts:signUp"},"effect":{"error":"CAPTCHA_CHECK_FAILED"}}"#),
            // An issuer may have errors of its own: https://www.rfc-editor.org/rfc/rfc6749#section-8.5
            ("outcomes", #"{"provider":"openid","outcome":"error","error":"mfa_required"}"#),
            ("outcomes", #"{"provider":"github","outcome":"error","error":"temporarily_unavailable"}"#),
            // Projects with such an ID are made at their first use.
            ("faults", #"{"match":{"client":"demo-another"},"effect":{"status":500}}"#),
        ])
    func taken(call: String, order: String) throws {
        let answer = try fixture.client.request("POST", "\(FaultFixture.api)/\(call)", body: Array(order.utf8))
        #expect(answer.status == 201, "\(answer)")
    }

    @Test(
        "a seed's outcomes and faults are held to the same",
        arguments: [
            #"{"outcomes":[{"provider":"apple","client":"com.example.webb","outcome":"approve"}]}"#,
            #"{"outcomes":[{"provider":"apple","outcome":"error","error":"user_canceled_authorize"}]}"#,
            #"{"faults":[{"match":{"host":"github.com","client":"nobody"},"effect":{"status":500}}]}"#,
        ])
    func seeds(seed: String) throws {
        let answer = try fixture.client.request("POST", "\(FaultFixture.api)/seed", body: Array(seed.utf8))
        #expect(answer.status == 400, "\(answer)")
    }
}
