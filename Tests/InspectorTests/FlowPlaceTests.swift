import Testing

@testable import Control

@Suite("Places of flows in the list")
struct FlowPlaceTests {
    @Test("of flows that ended in one microsecond, each has a place of its own, which an address can have")
    func order() throws {
        let places = try ["-1", "0", "7", "7.1", "7.10", "8.0", "1795444000000000.41"].map { text in
            try #require(FlowPlace(text), "\(text)")
        }
        #expect(places.sorted() == places && Set(places.map(\.text)).count == places.count)
        for place in places { #expect(FlowPlace(place.text) == place) }
    }

    @Test("what isn't a place", arguments: ["", "x", ".", "1.", ".1", "1.x", "1.2.3", "9223372036854775808"])
    func none(text: String) { #expect(FlowPlace(text) == nil) }
}
