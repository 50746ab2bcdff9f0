import Time

/// An index of a table in memory. For each indexed value, it lists the rows that have the value, beginning with the row
/// that has had it longest. The index of a test world's table is only used while the world's lock is held. The index of
/// the seed's rows never changes once it is made.
final class MemoryIndex: @unchecked Sendable {
    /// An entry of an index, for one row and one of the row's values. The entries of all rows with the same value are a
    /// linked list.
    private struct Node {
        let value: String
        let slot: Int32
        /// The position of the entry before this one in the linked list of all rows with the same value; -1 if this
        /// entry is the first in that list.
        var previous: Int32
        var next: Int32
        /// The position of the same row's next index entry, or -1. A row with several values has an entry for each
        /// value.
        var sibling: Int32
    }

    private let values: StoredRowRules.Values
    private var ends: [String: (first: Int32, last: Int32, count: Int)] = [:]
    private var nodes: ContiguousArray<Node?> = []
    private var free: [Int32] = []
    /// The position of each row's first index entry; -1 if the row has none.
    private var firstNodes: ContiguousArray<Int32> = []
    /// The changes of the index since `begin` was called. They are undone in reverse, so that a restored entry is at
    /// its former position in the list of entries.
    private var steps: [Step] = []
    private var keepsSteps = false

    private enum Step {
        case added(place: Int32, isNew: Bool)
        /// An entry was removed from the index. The entries of one table row are linked; `before` is the position of
        /// the entry before the removed one, or -1 if the removed entry was the row's first.
        case taken(place: Int32, Node, before: Int32)
    }

    init(_ values: StoredRowRules.Values) { self.values = values }

    func reserve(_ count: Int) {
        ends.reserveCapacity(count)
        nodes.reserveCapacity(count)
        firstNodes.reserveCapacity(count)
    }

    func count(_ value: String) -> Int { ends[value]?.count ?? 0 }

    /// Calls `body` for each row that has this value in the index, with the row's position in the table's array, until
    /// `body` returns `false`. The row that has had the value longest comes first.
    func each(_ value: String, _ body: (Int32) -> Bool) {
        var place = ends[value]?.first ?? -1
        while place >= 0, let node = nodes[Int(place)] {
            guard body(node.slot) else { return }
            place = node.next
        }
    }

    /// Calls `body` for each row that has this value in the index, with the row's position in the table's array, until
    /// `body` returns `false`. The row that got the value last comes first.
    func eachReversed(_ value: String, _ body: (Int32) -> Bool) {
        var place = ends[value]?.last ?? -1
        while place >= 0, let node = nodes[Int(place)] {
            guard body(node.slot) else { return }
            place = node.previous
        }
    }

    func insert(_ row: StoredRow, _ slot: Int32) {
        switch values {
        case .one(let value): if let value = value(row) { add(value, slot) }
        case .many(let values): for value in MemoryIndex.distinct(values(row)) { add(value, slot) }
        }
    }

    /// Removes all index entries of the row at a position of the table's array.
    func remove(_ slot: Int32) { removeEntries(slot) { _ in true } }

    func replace(_ old: StoredRow, by row: StoredRow, _ slot: Int32) {
        switch values {
        case .one(let value):
            let (before, after) = (value(old), value(row))
            guard before != after else { return }
            if before != nil { remove(slot) }
            if let after { add(after, slot) }
        case .many(let values):
            let (earlier, later) = (values(old), values(row))
            guard earlier != later else { return }
            let (before, after) = (Set(earlier), Set(later))
            removeEntries(slot) { !after.contains($0) }
            for value in after.subtracting(before) { add(value, slot) }
        }
    }

    func removeAll() { (ends, nodes, free, firstNodes) = ([:], [], [], []) }

    private static func distinct(_ values: [String]) -> [String] {
        guard values.count < 9 else { return Array(Set(values)) }
        return values.indices.filter { place in !values[..<place].contains(values[place]) }.map { values[$0] }
    }

    /// Adds an index entry for the row at a position of the table's array, after all earlier entries with the same
    /// value.
    func add(_ value: String, _ slot: Int32) {
        while firstNodes.count <= Int(slot) { firstNodes.append(-1) }
        let place = free.popLast() ?? Int32(nodes.count)
        let isNew = Int(place) == nodes.count
        if isNew { nodes.append(nil) }
        if keepsSteps { steps.append(.added(place: place, isNew: isNew)) }
        let last = append(place, to: &ends[value, default: (first: place, last: -1, count: 0)])
        nodes[Int(place)] = Node(
            value: value, slot: slot, previous: last, next: -1, sibling: firstNodes[Int(slot)])
        firstNodes[Int(slot)] = place
        if last >= 0 { nodes[Int(last)]?.next = place }
    }

    private func append(_ place: Int32, to end: inout (first: Int32, last: Int32, count: Int)) -> Int32 {
        defer { (end.last, end.count) = (place, end.count + 1) }
        return end.last
    }

    /// Removes those index entries of a row for whose values `isRemoved` returns `true`.
    private func removeEntries(_ slot: Int32, where isRemoved: (String) -> Bool) {
        guard Int(slot) < firstNodes.count else { return }
        var before: Int32 = -1
        var place = firstNodes[Int(slot)]
        while place >= 0, let node = nodes[Int(place)] {
            if isRemoved(node.value) { remove(node, at: place, after: before) } else { before = place }
            place = node.sibling
        }
    }

    /// Removes an index entry. `before` is the position of the same row's previous entry; -1 if there is none.
    private func remove(_ node: Node, at place: Int32, after before: Int32) {
        if keepsSteps { steps.append(.taken(place: place, node, before: before)) }
        if before < 0 {
            firstNodes[Int(node.slot)] = node.sibling
        } else {
            nodes[Int(before)]?.sibling = node.sibling
        }
        unlink(node)
        nodes[Int(place)] = nil
        free.append(place)
    }

    private func unlink(_ node: Node) {
        if node.previous >= 0 { nodes[Int(node.previous)]?.next = node.next }
        if node.next >= 0 { nodes[Int(node.next)]?.previous = node.previous }
        if var end = ends[node.value] {
            if node.previous < 0 { end.first = node.next }
            if node.next < 0 { end.last = node.previous }
            end.count -= 1
            ends[node.value] = end.count > 0 ? end : nil
        }
    }

    // MARK: - Transactions that can fail

    /// Starts recording the changes of the index, so that they can be undone.
    func begin() { keepsSteps = true }

    func keepChanges() {
        steps.removeAll(keepingCapacity: steps.count < 64)
        keepsSteps = false
    }

    /// Undoes all changes of the index since `begin` was called.
    func undo() {
        while let step = steps.popLast() {
            switch step {
            case .added(let place, let isNew): undoAdding(place, isNew)
            case .taken(let place, let node, let before): undoTaking(place, node, before)
            }
        }
        keepsSteps = false
    }

    private func undoAdding(_ place: Int32, _ isNew: Bool) {
        guard let node = nodes[Int(place)] else { return }
        firstNodes[Int(node.slot)] = node.sibling
        unlink(node)
        if isNew {
            nodes.removeLast()
        } else {
            nodes[Int(place)] = nil
            free.append(place)
        }
    }

    /// Puts a removed index entry back. Its neighbours in the list are the same as before the removal, because later
    /// changes have been undone already.
    private func undoTaking(_ place: Int32, _ node: Node, _ before: Int32) {
        free.removeLast()
        nodes[Int(place)] = node
        if before < 0 { firstNodes[Int(node.slot)] = place } else { nodes[Int(before)]?.sibling = place }
        if node.previous >= 0 { nodes[Int(node.previous)]?.next = place }
        if node.next >= 0 { nodes[Int(node.next)]?.previous = place }
        var end = ends[node.value] ?? (first: place, last: place, count: 0)
        if node.previous < 0 { end.first = place }
        if node.next < 0 { end.last = place }
        end.count += 1
        ends[node.value] = end
    }
}

/// Sorted texts of a table's rows, each with its row's position in the table's array. The texts are kept in chunks, so
/// that adding a text moves only a few of the others.
final class SortedTexts {
    struct Entry: Comparable {
        let text: String
        let slot: Int32

        static func < (left: Entry, right: Entry) -> Bool {
            left.text == right.text ? left.slot < right.slot : left.text < right.text
        }
    }

    private static let chunkSize = 512
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

    /// Returns the sorted entries whose texts begin with `prefix` and come after the text `after`.
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

    private func chunk(of entry: Entry) -> Int {
        max(0, SortedTexts.firstPlace(chunks.count) { chunks[$0][0] > entry } - 1)
    }

    private static func place(of entry: Entry, in chunk: [Entry]) -> Int {
        firstPlace(chunk.count) { chunk[$0] >= entry }
    }

    /// Returns the first position below `count` for which `holds` is true, or else `count`, by binary search.
    private static func firstPlace(_ count: Int, _ holds: (Int) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if holds(middle) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

/// The table rows that expire, sorted by the time of their expiry: a binary heap, the earliest first.
struct ExpiryQueue {
    struct Entry {
        let drop: Instant
        let slot: Int32
        /// The generation of the row's slot in the table when this entry of the expiry queue was added. If the slot's
        /// generation is higher now, the slot has got another row or another expiry, and the entry is obsolete.
        let generation: UInt32
    }

    private var heap: [Entry] = []

    var count: Int { heap.count }
    var first: Entry? { heap.first }

    mutating func insert(_ drop: Instant, _ slot: Int32, _ generation: UInt32) {
        heap.append(Entry(drop: drop, slot: slot, generation: generation))
        var place = heap.count - 1
        while place > 0, heap[place].drop < heap[(place - 1) / 2].drop {
            heap.swapAt(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    mutating func removeFirst() {
        guard let last = heap.popLast(), !heap.isEmpty else { return }
        heap[0] = last
        var place = 0
        while true {
            var least = place
            for child in [2 * place + 1, 2 * place + 2]
            where child < heap.count && heap[child].drop < heap[least].drop {
                least = child
            }
            guard least != place else { return }
            heap.swapAt(place, least)
            place = least
        }
    }
}
