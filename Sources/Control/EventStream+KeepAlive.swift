import HTTPServer

extension EventStream {
    /// Sends an empty comment now and then, because proxies close connections on which nothing is sent.
    func keepAlive(_ chunk: StreamChunk) {
        guard send(chunk) else { return }
        Timer.after(.seconds(15)) { [weak self] in self?.keepAlive(chunk) }
    }
}
