import Time

/// The slots of rows that expire, by time of expiry: a binary heap, the earliest first.
struct ExpiryQueue {
    struct Entry {
        let drop: Instant
        let slot: Int32
        /// The slot's generation when this was added.
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
