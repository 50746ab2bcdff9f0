extension KeyRing {
    /// Publishes a new key, which signs from now on, and withdraws the oldest of three. The new key's ID; `nil` when none can
    /// be made, or too many rotations wait for one.
    package func rotate() async -> String? {
        await withCheckedContinuation { continuation in rotate { continuation.resume(returning: $0) } }
    }

}

extension KeyRings {
    /// Returns once the key that is never published is there.
    package func unpublishedIsReady() async {
        await withCheckedContinuation { continuation in whenUnpublishedIsReady { continuation.resume() } }
    }
}
