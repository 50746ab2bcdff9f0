import Foundation
import JOSE
import TestSupport
import Testing

@Suite("Firebase: second factors")
struct SecondFactorTests {
    let fixture: FirebaseFixture
    private let number = "+15555550199"

    init() throws { fixture = try FirebaseFixture() }

    private func enrollPhone(_ idToken: String?, name: String = "Work phone") throws -> Answer {
        let start = try fixture.v2(
            "accounts/mfaEnrollment:start", ["idToken": idToken ?? "", "phoneEnrollmentInfo": ["phoneNumber": number]])
        let session = (start.json["phoneSessionInfo"] as? [String: Any])?["sessionInfo"] as? String ?? ""
        return try fixture.v2(
            "accounts/mfaEnrollment:finalize",
            [
                "idToken": idToken ?? "", "displayName": name,
                "phoneVerificationInfo": ["sessionInfo": session, "code": fixture.message(number)],
            ])
    }

    private func startTOTP(_ idToken: String?) throws -> [String: Any] {
        let start = try fixture.v2(
            "accounts/mfaEnrollment:start", ["idToken": idToken ?? "", "totpEnrollmentInfo": [:]])
        return start.json["totpSessionInfo"] as? [String: Any] ?? [:]
    }

    private func finalizeTOTP(_ idToken: String?, _ info: [String: Any]) throws -> Answer {
        try fixture.v2(
            "accounts/mfaEnrollment:finalize",
            [
                "idToken": idToken ?? "", "displayName": "App",
                "totpVerificationInfo": [
                    "sessionInfo": info["sessionInfo"] ?? "",
                    "verificationCode": fixture.totp(info["sharedSecretKey"] as? String ?? ""),
                ],
            ])
    }

    private func enrollTOTP(_ idToken: String?) throws -> (Answer, String) {
        let info = try startTOTP(idToken)
        #expect(info["verificationCodeLength"] as? Int == 6)
        #expect(info["periodSec"] as? Int == 30)
        #expect(info["hashingAlgorithm"] as? String == "SHA1")
        #expect((info["finalizeEnrollmentTime"] as? String)?.hasSuffix("Z") ?? false)
        return (try finalizeTOTP(idToken, info), info["sharedSecretKey"] as? String ?? "")
    }

    private func signIn() throws -> Answer {
        try fixture.v1("signInWithPassword", ["email": "ada@example.org", "password": "correct horse"])
    }

    @Test("the linking guide's walk by phone: sign in, second factor required, choose a hint, code, resolved")
    func phone() throws {
        let user = try fixture.verifiedUser()
        let enrolled = try enrollPhone(user["idToken"])
        #expect(enrolled.status == 200)
        let claims = enrolled.claims()["firebase"] as? [String: Any]
        #expect(claims?["sign_in_second_factor"] as? String == "phone")

        // Auth.auth().signIn(...) → secondFactorRequired, 17078
        let first = try fixture.legacy("verifyPassword", ["email": "ada@example.org", "password": "correct horse"])
        #expect(first.status == 200)
        #expect(first["idToken"] == nil)
        let pending = try #require(first["mfaPendingCredential"])
        let waiting = try fixture.client.get("/_understudy/v1/flows?unfinished=true").text
        #expect(
            waiting.contains("\"hint\":\"A second factor is required, and the user hasn't given it.\""), "\(waiting)")
        // "Select a second factor to sign in": the resolver's hints
        let hint = try #require((first.json["mfaInfo"] as? [[String: Any]])?.first)
        #expect(hint["displayName"] as? String == "Work phone")
        #expect(hint["phoneInfo"] as? String == "+*******0199")
        #expect((hint["enrolledAt"] as? String)?.hasSuffix("Z") ?? false)
        // PhoneAuthProvider.verifyPhoneNumber(with: hint, multiFactorSession: resolver.session)
        let start = try fixture.v2(
            "accounts/mfaSignIn:start",
            ["mfaPendingCredential": pending, "mfaEnrollmentId": hint["mfaEnrollmentId"] ?? "", "phoneSignInInfo": [:]])
        let session = (start.json["phoneResponseInfo"] as? [String: Any])?["sessionInfo"] ?? ""
        let wrong = try fixture.v2(
            "accounts/mfaSignIn:finalize",
            ["mfaPendingCredential": pending, "phoneVerificationInfo": ["sessionInfo": session, "code": "x"]])
        #expect(wrong.message == "INVALID_CODE")
        // resolver.resolveSignIn(with: assertion)
        let proof: [String: Any] = [
            "mfaPendingCredential": pending,
            "phoneVerificationInfo": ["sessionInfo": session, "code": try fixture.message(number)],
        ]
        let resolved = try fixture.v2("accounts/mfaSignIn:finalize", proof)
        #expect(resolved.status == 200)
        let firebase = resolved.claims()["firebase"] as? [String: Any]
        #expect(firebase?["sign_in_second_factor"] as? String == "phone")
        #expect(firebase?["second_factor_identifier"] as? String == hint["mfaEnrollmentId"] as? String)
        // It remains after a refresh. The credential can be used again, the code can't.
        let refreshed = try fixture.refresh(resolved["refreshToken"])
        #expect(
            (refreshed.claims("id_token")["firebase"] as? [String: Any])?["sign_in_second_factor"] as? String == "phone"
        )
        let again = try fixture.v2("accounts/mfaSignIn:finalize", proof)
        #expect(again.message == "SESSION_EXPIRED")
        #expect(again.diagnosis.contains("used already"))
        let anew = try fixture.v2(
            "accounts/mfaSignIn:start",
            ["mfaPendingCredential": pending, "mfaEnrollmentId": hint["mfaEnrollmentId"] ?? "", "phoneSignInInfo": [:]])
        let other = (anew.json["phoneResponseInfo"] as? [String: Any])?["sessionInfo"] ?? ""
        let retried = try fixture.v2(
            "accounts/mfaSignIn:finalize",
            [
                "mfaPendingCredential": pending,
                "phoneVerificationInfo": ["sessionInfo": other, "code": fixture.message(number)],
            ])
        #expect(retried.status == 200)
    }

    @Test("a test number's code works again for a second factor, as in production; the number is enrolled once")
    func testNumber() throws {
        let (user, number) = (try fixture.verifiedUser(), "+15555550100")
        func code(_ session: [String: Any]?) -> [String: Any] {
            ["phoneVerificationInfo": ["sessionInfo": session?["sessionInfo"] ?? "", "code": "123456"]]
        }
        let started = try fixture.v2(
            "accounts/mfaEnrollment:start",
            ["idToken": user["idToken"] ?? "", "phoneEnrollmentInfo": ["phoneNumber": number]])
        let session = started.json["phoneSessionInfo"] as? [String: Any]
        func enrol() throws -> Answer {
            try fixture.v2(
                "accounts/mfaEnrollment:finalize", ["idToken": user["idToken"] ?? ""].merging(code(session)) { $1 })
        }
        #expect(try enrol().status == 200)
        #expect(try enrol().message.hasPrefix("SECOND_FACTOR_EXISTS"))
        let first = try signIn()
        let pending: [String: Any] = ["mfaPendingCredential": first["mfaPendingCredential"] ?? ""]
        let id = (first.json["mfaInfo"] as? [[String: Any]])?.first?["mfaEnrollmentId"] ?? ""
        let begun = try fixture.v2(
            "accounts/mfaSignIn:start", pending.merging(["mfaEnrollmentId": id, "phoneSignInInfo": [:]]) { $1 })
        let body = pending.merging(code(begun.json["phoneResponseInfo"] as? [String: Any])) { $1 }
        for _ in 0..<2 { #expect(try fixture.v2("accounts/mfaSignIn:finalize", body)["idToken"] != nil) }
    }

    @Test("an enrolment ends once, a user gets one authenticator app, and five numbers beside it")
    func limit() throws {
        try fixture.freeze()
        let idToken = try fixture.verifiedUser()["idToken"]
        let started = try (0..<2).map { _ in try startTOTP(idToken) }
        let first = try finalizeTOTP(idToken, started[0])
        #expect(first.status == 200)
        #expect(try finalizeTOTP(idToken, started[0]).message == "TOO_MANY_ENROLLMENT_ATTEMPTS : restart enrollment")
        let second = "SECOND_FACTOR_LIMIT_EXCEEDED : Too many TOTP based second factors enrolled for this account."
        #expect(try finalizeTOTP(idToken, started[1]).message == second)
        for place in 0..<6 {
            let number = "+1555555020\(place)"
            let start = try fixture.v2(
                "accounts/mfaEnrollment:start",
                ["idToken": idToken ?? "", "phoneEnrollmentInfo": ["phoneNumber": number]])
            guard place < 5 else {
                let refusal = "SECOND_FACTOR_LIMIT_EXCEEDED : Too many second factors enrolled for this account."
                #expect(start.message == refusal)
                continue
            }
            let session = (start.json["phoneSessionInfo"] as? [String: Any])?["sessionInfo"] ?? ""
            let proof = ["sessionInfo": session, "code": try fixture.message(number)]
            let end = try fixture.v2(
                "accounts/mfaEnrollment:finalize", ["idToken": idToken ?? "", "phoneVerificationInfo": proof])
            #expect(end.status == 200, "\(end)")
        }
        #expect((try fixture.lookup(first["idToken"])["mfaInfo"] as? [Any])?.count == 6)
    }

    @Test("by authenticator app: codes computed elsewhere, by the world's clock")
    func authenticator() throws {
        try fixture.freeze()
        let (enrolled, secret) = try enrollTOTP(fixture.verifiedUser()["idToken"])
        #expect(enrolled.status == 200)
        var first = try signIn()
        let hint = try #require((first.json["mfaInfo"] as? [[String: Any]])?.first)
        #expect(hint["totpInfo"] != nil)
        func finalize(_ code: String) throws -> Answer {
            try fixture.v2(
                "accounts/mfaSignIn:finalize",
                [
                    "mfaPendingCredential": first["mfaPendingCredential"] ?? "",
                    "mfaEnrollmentId": hint["mfaEnrollmentId"] ?? "",
                    "totpVerificationInfo": ["verificationCode": code],
                ])
        }
        #expect(try finalize(fixture.totp(secret, after: 600)).message == "INVALID_CODE")
        // This is the code with which it was enrolled.
        #expect(try finalize(fixture.totp(secret)).diagnosis.contains("already used"))
        try fixture.advance("5m")
        #expect(try finalize(fixture.totp(secret)).errorCode == "TOTP_CHALLENGE_TIMEOUT")
        first = try signIn()
        #expect(try finalize(fixture.totp(secret, after: -300)).message == "INVALID_CODE")
        let resolved = try finalize(fixture.totp(secret))
        #expect((resolved.claims()["firebase"] as? [String: Any])?["sign_in_second_factor"] as? String == "totp")
        // Neither this code nor an earlier one works again. A later one does, with the same credential.
        for span in [0, -30] {
            let again = try finalize(fixture.totp(secret, after: span))
            #expect(again.message == "INVALID_CODE")
            #expect(!again.diagnosis.isEmpty)
        }
        #expect(try finalize(fixture.totp(secret, after: 60))["idToken"] != nil)
        #expect(try finalize(fixture.totp(secret, after: 30)).message == "INVALID_CODE")
        // After a clock is set back, codes are accepted from that time on.
        try fixture.advance("-5m")
        #expect(try finalize(fixture.totp(secret))["idToken"] != nil)
    }

    @Test("RFC 6238's own vectors")
    func vectors() throws {
        // The secret is the text 12345678901234567890; the six digits are the last of the RFC's eight.
        let secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
        for (seconds, code) in [
            (59, "287082"), (1_111_111_109, "081804"), (1_234_567_890, "005924"), (2_000_000_000, "279037"),
        ] {
            let fixture = try FirebaseFixture(
                seed: """
                    {"clock":{"set":"\(ISO8601DateFormatter().string(from: Date(timeIntervalSince1970: Double(seconds))))","freeze":true},
                     "firebase":{"projects":[{"id":"demo-app","users":[{"localId":"u","email":"u@example.org","password":"secret!",
                       "factors":[{"id":"f","totpSecret":"\(secret)"}]}]}]}}
                    """)
            let first = try fixture.v1("signInWithPassword", ["email": "u@example.org", "password": "secret!"])
            let resolved = try fixture.v2(
                "accounts/mfaSignIn:finalize",
                [
                    "mfaPendingCredential": first["mfaPendingCredential"] ?? "", "mfaEnrollmentId": "f",
                    "totpVerificationInfo": ["verificationCode": code],
                ])
            #expect(resolved.status == 200, "\(seconds): \(resolved)")
        }
    }

    @Test("after a provider's credential, too; withdrawing ends the sessions of before")
    func withdraw() throws {
        let apple = try fixture.signInWithApple()
        let enrolled = try enrollPhone(apple["idToken"])
        let first = try fixture.assertion(
            FirebaseFixture.postBody("apple.com", idToken: fixture.apple(nonce: nil)["identityToken"]))
        #expect(first["idToken"] == nil)
        #expect(first["mfaPendingCredential"] != nil)
        let id = ((first.json["mfaInfo"] as? [[String: Any]])?.first?["mfaEnrollmentId"] as? String) ?? ""
        try fixture.advance("10s")
        let unknown = try fixture.v2(
            "accounts/mfaEnrollment:withdraw", ["idToken": enrolled["idToken"] ?? "", "mfaEnrollmentId": "x"])
        #expect(unknown.message == "MFA_ENROLLMENT_NOT_FOUND")
        let withdrawn = try fixture.v2(
            "accounts/mfaEnrollment:withdraw", ["idToken": enrolled["idToken"] ?? "", "mfaEnrollmentId": id])
        #expect(withdrawn["idToken"] != nil)
        #expect(try fixture.v1("lookup", ["idToken": enrolled["idToken"] ?? ""]).message == "TOKEN_EXPIRED")
        #expect((try fixture.lookup(withdrawn["idToken"])["mfaInfo"] as? [Any])?.isEmpty == true)
    }

    @Test("refusals")
    func refusals() throws {
        func start(_ idToken: String?, _ info: [String: Any] = ["phoneEnrollmentInfo": ["phoneNumber": "+15555550199"]])
            throws -> String
        {
            try fixture.v2("accounts/mfaEnrollment:start", ["idToken": idToken ?? ""].merging(info) { $1 }).message
        }
        let unsupported = "UNSUPPORTED_FIRST_FACTOR : MFA is not available for the given first factor."
        #expect(try start(nil) == "INVALID_ID_TOKEN")
        #expect(try start(fixture.signUpAnonymously()["idToken"]) == unsupported)
        #expect(
            try start(fixture.signUp("new@example.org")["idToken"])
                == "UNVERIFIED_EMAIL : Need to verify email first before enrolling second factors.")
        let user = try fixture.verifiedUser()
        #expect(
            try start(user["idToken"], ["phoneEnrollmentInfo": ["phoneNumber": "0199"]]).hasPrefix(
                "INVALID_PHONE_NUMBER"))
        #expect(try start(user["idToken"], [:]) == "INVALID_ARGUMENT")
        let enrolled = try enrollPhone(user["idToken"])
        #expect(
            try start(enrolled["idToken"])
                == "SECOND_FACTOR_EXISTS : Phone number already enrolled as second factor for this account.")
        let totp = try fixture.v2(
            "accounts/mfaEnrollment:finalize",
            [
                "idToken": enrolled["idToken"] ?? "",
                "totpVerificationInfo": ["sessionInfo": "x", "verificationCode": "1"],
            ])
        #expect(totp.message == "INVALID_SESSION_INFO")
        for (body, wanted) in [
            ([:], "MISSING_MFA_PENDING_CREDENTIAL"),
            (
                ["mfaPendingCredential": "x", "phoneVerificationInfo": [:]],
                "INVALID_PENDING_TOKEN"
            ),
        ] {
            for endpoint in ["start", "finalize"] {
                #expect(try fixture.v2("accounts/mfaSignIn:\(endpoint)", body).message == wanted)
            }
        }
        let first = try fixture.v1("signInWithPassword", ["email": "ada@example.org", "password": "correct horse"])
        let pending = first["mfaPendingCredential"] ?? ""
        #expect(
            try fixture.v2("accounts/mfaSignIn:start", ["mfaPendingCredential": pending]).message
                == "MISSING_MFA_ENROLLMENT_ID")
        #expect(
            try fixture.v2("accounts/mfaSignIn:start", ["mfaPendingCredential": pending, "mfaEnrollmentId": "x"])
                .message
                == "MFA_ENROLLMENT_NOT_FOUND")
        try fixture.advance("11m")
        #expect(
            try fixture.v2("accounts/mfaSignIn:start", ["mfaPendingCredential": pending, "mfaEnrollmentId": "x"])
                .message
                == "INVALID_MFA_PENDING_CREDENTIAL : MFA pending credential is expired.")
        #expect(try start(enrolled["idToken"]) != "")
        let off = try FirebaseFixture(
            seed: #"{"firebase":{"projects":[{"id":"demo-app","mfa":{"state":"DISABLED"}}]}}"#)
        let verified = try off.verifiedUser()
        #expect(
            try off.v2(
                "accounts/mfaEnrollment:start", ["idToken": verified["idToken"] ?? "", "totpEnrollmentInfo": [:]]
            ).message
                == "OPERATION_NOT_ALLOWED : TOTP based MFA not enabled.")
    }
}

extension FirebaseFixture {
    /// Returns a one-time password for this number of seconds after the world's time, computed by code that isn't the
    /// product's.
    func totp(_ secret: String, after span: Int = 0) throws -> String {
        let clock = try client.get("\(FirebaseFixture.control)/clock").json
        let seconds = try #require(clock["milliseconds"] as? Int) / 1_000 + span
        let counter = String(format: "%016x", seconds / 30)
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
        let bits = secret.compactMap { alphabet.firstIndex(of: $0) }
            .map { String(String(32 + $0, radix: 2).dropFirst()) }.joined()
        let hex = stride(from: 0, to: bits.count / 8 * 8, by: 8).map { place -> String in
            let start = bits.index(bits.startIndex, offsetBy: place)
            return String(format: "%02x", UInt8(bits[start..<bits.index(start, offsetBy: 8)], radix: 2) ?? 0)
        }.joined()
        let script =
            "printf '\(counter)' | sed 's/../\\\\x&/g' | xargs -0 printf '%b' | openssl dgst -sha1 -mac HMAC -macopt hexkey:\(hex) -r"
        let output = try Shell.run("bash", ["-c", script]).output.prefix { $0 != " " }
        let bytes = Hex.decode(String(output)) ?? []
        let offset = Int(bytes[19] & 15)
        let value =
            (UInt32(bytes[offset] & 127) << 24) | (UInt32(bytes[offset + 1]) << 16) | (UInt32(bytes[offset + 2]) << 8)
            | UInt32(bytes[offset + 3])
        return String(format: "%06d", value % 1_000_000)
    }
}
