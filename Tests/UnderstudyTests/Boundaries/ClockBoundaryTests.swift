import Foundation
import TestSupport
import Testing

/// The world's clock must stay within the years of RFC 3339 and NumericDate.
@Suite("Boundary values at the clock")
struct ClockBoundaryTests {
    private let json = [("Content-Type", "application/json")]

    @Test("every time with every duration, running and frozen")
    func pairs() throws {
        let fixture = try FirebaseFixture()
        let connection = KeptConnection(port: fixture.client.port)
        for freeze in [false, true] {
            for time in Boundary.times {
                for duration in Boundary.durations where duration.hasSuffix("ms") || duration.hasSuffix("d") {
                    let body = #"{"reset":true,"freeze":\#(freeze),"set":"\#(time)","advance":"\#(duration)"}"#
                    let answer = connection.ask("POST", "/_understudy/v1/clock", headers: json, body: body)
                    #expect([200, 400].contains(answer?.status ?? 0), "\(body)")
                    guard let now = connection.ask("GET", "/_understudy/v1/clock")?.json["milliseconds"] as? Int64
                    else {
                        Issue.record("the clock says nothing after \(body)")
                        return
                    }
                    #expect((0...253_402_300_799_999).contains(now), "\(body)")
                }
            }
        }
    }

    @Test("a frozen clock that is moved again and again stops at the end of the calendar, and signs in there")
    func sum() throws {
        let fixture = try FirebaseFixture()
        _ = try fixture.client.post("/_understudy/v1/clock", json: ["freeze": true])
        var refusal: Answer?
        for _ in 0..<20 where refusal == nil {
            let answer = try fixture.client.post("/_understudy/v1/clock", json: ["advance": "365250d"])
            if answer.status != 200 { refusal = answer }
        }
        #expect(refusal?.status == 400)
        #expect(refusal?.text.contains("$.advance") ?? false)
        #expect(try fixture.client.post("/_understudy/v1/clock", json: ["set": "9999-12-31T23:30:00Z"]).status == 200)
        // Lifetimes that would end in the year 10000 end with the calendar.
        let signedIn = try fixture.signInWithApple()
        #expect(signedIn.status == 200)
        #expect(signedIn.claims()["exp"] as? Int64 == 253_402_300_799)
    }
}
