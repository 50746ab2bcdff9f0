import Synchronization

/// Limits the octets of all messages that are coming in.
final class MessageRoom: Sendable {
    private let limit: Int
    private let taken = Atomic<Int>(0)

    init(limit: Int) { self.limit = limit }

    /// One message's part. It is given back when the last reference to it is gone.
    final class Part {
        private let room: MessageRoom
        private var size = 0

        init(of room: MessageRoom) { self.room = room }

        deinit { room.taken.subtract(size, ordering: .relaxed) }

        /// Takes it in steps, so that it isn't asked for each packet. `false` when there is no room.
        func grow(to wanted: Int) -> Bool {
            guard wanted > size else { return true }
            let step = (wanted - size + Part.step - 1) / Part.step * Part.step
            guard room.taken.add(step, ordering: .relaxed).newValue <= room.limit else {
                room.taken.subtract(step, ordering: .relaxed)
                return false
            }
            size += step
            return true
        }

        private static let step = 64 << 10
    }
}
