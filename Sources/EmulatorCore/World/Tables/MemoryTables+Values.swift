// The values of a world in memory, and their undo log.

extension MemoryTables {
    class AnyBox {
        /// Whether the archive has the value, in its present form or the one before the transaction.
        var isArchived = false

        func putBack(_ kept: Kept) {}

        /// Returns the value as archives keep it; `nil` when it is archived and equal to `kept`.
        func archived(unlike kept: Kept, _ coder: StoredCoder) throws(StoreFailure) -> ArchivedValue? { nil }
    }

    /// A copy of a value.
    class Kept {}

    final class KeptValue<V: WorldValue>: Kept {
        let value: V
        init(_ value: V) { self.value = value }
    }

    /// A copy of a value from before the transaction changed it first.
    struct Restoring {
        let box: AnyBox
        let kept: Kept

        func restore() { box.putBack(kept) }
    }

    final class Box<V: WorldValue>: AnyBox {
        var value: V

        init(_ value: V) { self.value = value }

        override func putBack(_ kept: Kept) { value = unsafeDowncast(kept, to: KeptValue<V>.self).value }

        override func archived(unlike kept: Kept, _ coder: StoredCoder) throws(StoreFailure) -> ArchivedValue? {
            let before = unsafeDowncast(kept, to: KeptValue<V>.self).value
            if isArchived, value.isWritten(as: before) { return nil }
            let archived = try coder.archived(value)
            if isArchived, try coder.encode(before) == archived.value { return nil }
            return archived
        }
    }
}
