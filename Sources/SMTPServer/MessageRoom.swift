import Synchronization

/// Limits the octets of all messages that are being received.
final class MessageRoom: Sendable {
    private let limit: Int
    private let taken = Atomic<Int>(0)

    init(limit: Int) { self.limit = limit }

    /// The part of the limit that one message uses. It is returned when the last reference to it is released.
    final class Part {
        private let room: MessageRoom
        private var size = 0

        init(of room: MessageRoom) { self.room = room }

        deinit { room.taken.subtract(size, ordering: .relaxed) }

        /// Reserves octets in steps, so that not every packet has to ask. Returns `false` if the limit would be
        /// exceeded.
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
