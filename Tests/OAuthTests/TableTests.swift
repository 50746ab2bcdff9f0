import OAuth
import Testing
import Time

@Suite("Tables of codes and tokens")
struct TableTests {
    @Test("a bounded table lets the oldest go, and counts what was removed as gone")
    func bounded() {
        var table = BoundedTable<Int, Int>(limit: 100)
        for number in 0..<1_000 { table[number] = number }
        #expect(table.count == 100)
        #expect(table[899] == nil && table[900] == 900 && table[999] == 999)
        table.removeAll { $0 < 950 }
        for number in 0..<10_000 {
            table[-number - 1] = number
            table.removeValue(forKey: -number - 1)
        }
        #expect(table.count == 50)
        #expect(table[999] == 999)
        table[999]? += 1
        #expect(table[999] == 1_000)
    }

    @Test("codes that don't expire, because the clock stands still, make way for new ones")
    func expiring() {
        var table = ExpiringTable<Int, Int>(limit: 100)
        for number in 0..<1_000 { table.insert(number, as: number, expires: .first + .seconds(1), now: .first) }
        #expect(table.count == 100)
        #expect(table[899] == nil && table[999]?.value == 999)
    }
}
