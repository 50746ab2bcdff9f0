// Where a world's values lie in memory, and what they were when a transaction touched them.

extension MemoryTables {
    class AnyBox {
        /// The position of the last change, where answers wait for that (`WriteQueue`); otherwise 0.
        var position = 0
        /// The last transaction that couldn't fail and in which it was noted as touched.
        var notedIn = 0
        /// The last `SharedChange` of which it is a part, by its number.
        var change = 0

        /// The value as it is now, to be written.
        func captured(by coder: StoredCoder) -> CapturedValue? { nil }

        func putBack(_ kept: Kept) {}
    }

    /// A value as it was.
    class Kept {}

    final class KeptValue<V: WorldValue>: Kept {
        let value: V
        init(_ value: V) { self.value = value }
    }

    /// A value as it was when a transaction touched it first.
    struct Restoring {
        let box: AnyBox
        let kept: Kept

        func restore() { box.putBack(kept) }
    }

    struct CapturedValue {
        let name: String
        /// Whether it is written already, as far as that can be said without writing it.
        let isAsWritten: Bool
        let encode: () throws(StoreFailure) -> [UInt8]
        let noteWritten: () -> Void
    }

    final class Box<V: WorldValue>: AnyBox {
        var value: V
        /// As others have it; `nil` where there are none.
        private var written: V?

        init(_ value: V, written: V? = nil) { (self.value, self.written) = (value, written) }

        override func captured(by coder: StoredCoder) -> CapturedValue? {
            let value = value
            return CapturedValue(
                name: V.name, isAsWritten: written.map { value.isWritten(as: $0) } ?? false,
                encode: { () throws(StoreFailure) in try coder.encode(value) },
                noteWritten: { self.written = value })
        }

        override func putBack(_ kept: Kept) { value = unsafeDowncast(kept, to: KeptValue<V>.self).value }
    }
}
