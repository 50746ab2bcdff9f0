import Foundation
import Testing
import Time

@Suite("Instants as they are written down")
struct CodingTests {
    @Test(
        "an instant is read as it was written, its milliseconds too", arguments: [0, 1, 999, 1000, 253_402_300_799_999])
    func roundTrip(milliseconds: Int64) throws {
        let instant = try #require(Instant(milliseconds: milliseconds))
        let data = try JSONEncoder().encode([instant])
        #expect(try JSONDecoder().decode([Instant].self, from: data) == [instant])
    }

    @Test(
        "what isn't a time is refused",
        arguments: [
            "", "2030-01-01", "2030-01-01T00:00:00.Z", "2030-01-01T00:00:00.+12Z", "2030-02-30T00:00:00.000Z",
        ])
    func refused(text: String) {
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([Instant].self, from: Data("[\"\(text)\"]".utf8))
        }
    }
}
