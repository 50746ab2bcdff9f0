import Testing
@testable import Worlds

@testable import EmulatorCore

@Suite("searching for people")
struct PeopleTests {
    private static let everybody = (1...60).map { "p\($0)" }

    private func store(_ kind: TestedStore) throws -> WorldStore {
        let people = PeopleTests.everybody.map {
            #"{"id":"\#($0)","name":{"given":"Pat","family":"Miller"},"email":"\#($0)@example.com"}"#
        }
        let seed = #"{"accounts":[\#(people.joined(separator: ","))]}"#
        return try kind.open(Seed([SeedSource(name: "seed", text: seed, directory: ".")], format: SeedFormat([])))
    }

    @Test(
        "page after page shows everybody once", arguments: ["", "p", "pat", "Miller", "Pat mil"], TestedStore.allCases)
    func paging(search: String, kind: TestedStore) throws {
        let store = try store(kind)
        var seen: [String] = []
        var after: String?
        repeat {
            let page = store.read { $0.people(search: search, after: after, limit: 20) }
            #expect(page.people.count == 20)
            seen += page.people.map(\.id)
            after = page.next
            // The cursor is an ID, which survives a page's form.
            #expect(after == nil || after == page.people.last?.id)
        } while after != nil && seen.count < 100
        #expect(seen.sorted() == PeopleTests.everybody.sorted())
    }
}
