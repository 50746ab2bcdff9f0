/// Sorted texts, each with the slot of its row. They are in chunks, so that adding one moves few.
final class SortedTexts {
    struct Entry: Comparable {
        let text: String
        let slot: Int32

        static func < (left: Entry, right: Entry) -> Bool {
            left.text == right.text ? left.slot < right.slot : left.text < right.text
        }
    }

    private static let chunkSize = 512
    /// The chunks, none of which is empty.
    private var chunks: [[Entry]]

    init(_ entries: [Entry]) {
        let sorted = entries.sorted()
        let size = SortedTexts.chunkSize / 2
        chunks = stride(from: 0, to: sorted.count, by: size).map { start in
            Array(sorted[start..<min(start + size, sorted.count)])
        }
    }

    func insert(_ text: String, _ slot: Int32) {
        let entry = Entry(text: text, slot: slot)
        guard !chunks.isEmpty else { return chunks.append([entry]) }
        let chunk = chunk(of: entry)
        chunks[chunk].insert(entry, at: SortedTexts.place(of: entry, in: chunks[chunk]))
        guard chunks[chunk].count > SortedTexts.chunkSize else { return }
        let half = Array(chunks[chunk].suffix(SortedTexts.chunkSize / 2))
        chunks[chunk].removeLast(half.count)
        chunks.insert(half, at: chunk + 1)
    }

    func remove(_ text: String, _ slot: Int32) {
        guard !chunks.isEmpty else { return }
        let entry = Entry(text: text, slot: slot)
        let chunk = chunk(of: entry)
        let place = SortedTexts.place(of: entry, in: chunks[chunk])
        guard place < chunks[chunk].count, chunks[chunk][place] == entry else { return }
        chunks[chunk].remove(at: place)
        if chunks[chunk].isEmpty { chunks.remove(at: chunk) }
    }

    /// Returns the entries whose texts begin with `prefix` and come after `after`.
    func entries(prefix: String, after: String?) -> Entries {
        let start = max(prefix, after ?? "")
        let entry = Entry(text: start, slot: -1)
        guard !chunks.isEmpty else { return Entries(chunks: [], chunk: 0, place: 0, prefix: prefix, after: after) }
        let chunk = chunk(of: entry)
        return Entries(
            chunks: chunks, chunk: chunk, place: SortedTexts.place(of: entry, in: chunks[chunk]), prefix: prefix,
            after: after)
    }

    struct Entries: IteratorProtocol {
        fileprivate let chunks: [[Entry]]
        fileprivate var chunk: Int
        fileprivate var place: Int
        fileprivate let prefix: String
        fileprivate let after: String?

        mutating func next() -> Entry? {
            while chunk < chunks.count {
                guard place < chunks[chunk].count else {
                    (chunk, place) = (chunk + 1, 0)
                    continue
                }
                let entry = chunks[chunk][place]
                place += 1
                if entry.text == after { continue }
                return entry.text.hasPrefix(prefix) ? entry : nil
            }
            return nil
        }
    }

    /// Returns the last chunk that doesn't begin after `entry`, or the first one.
    private func chunk(of entry: Entry) -> Int {
        max(0, SortedTexts.firstPlace(chunks.count) { chunks[$0][0] > entry } - 1)
    }

    /// Returns the first position whose entry isn't before `entry`.
    private static func place(of entry: Entry, in chunk: [Entry]) -> Int {
        firstPlace(chunk.count) { chunk[$0] >= entry }
    }

    /// Returns the first of `count` positions for which `holds` is true, by binary search.
    private static func firstPlace(_ count: Int, _ holds: (Int) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if holds(middle) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
