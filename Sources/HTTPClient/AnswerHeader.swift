/// The status of an HTTP answer and the length of its body, as the answer's header gives them:
/// <https://www.rfc-editor.org/rfc/rfc9112#section-6>.
struct AnswerHeader {
    private enum Framing {
        case chunked
        case length(Int)
        /// The answer's body has no announced length and ends when the connection is closed.
        case untilClosed
    }

    let status: Int
    let headers: [(name: String, value: String)]
    private let framing: Framing
    /// The position of the body's first byte in the received bytes.
    private let start: Int

    /// Reads the header of an HTTP answer. The end of the header is looked for from the index `place` on. Returns `nil`
    /// if the header isn't complete.
    ///
    /// - Throws: An error if the bytes aren't an HTTP answer.
    init?(_ bytes: [UInt8], from place: Int) throws(OutgoingRequest.Failure) {
        guard let blank = bytes[place...].firstRange(of: [0x0D, 0x0A, 0x0D, 0x0A]) else { return nil }
        let lines = String(decoding: bytes[..<blank.lowerBound], as: UTF8.self).split(separator: "\r\n")
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]), (100...599).contains(status)
        else { throw OutgoingRequest.Failure(description: "what came isn't an HTTP answer") }
        headers = lines.dropFirst().compactMap { line in
            line.firstIndex(of: ":").map { colon in
                (name: String(line[..<colon]), value: String(line[line.index(after: colon)...].drop { $0 == " " }))
            }
        }
        let fields = lines.dropFirst().map { $0.lowercased() }
        if status == 204 || status == 304 {
            // An answer with such a status has no body, whatever length its header names.
            framing = .length(0)
        } else if fields.contains(where: { $0.hasPrefix("transfer-encoding:") && $0.hasSuffix("chunked") }) {
            framing = .chunked
        } else if let field = fields.first(where: { $0.hasPrefix("content-length:") }) {
            framing = .length(max(0, Int(field.dropFirst("content-length:".count).filter { $0 != " " }) ?? 0))
        } else {
            framing = .untilClosed
        }
        self.status = status
        start = blank.upperBound
    }

    /// Whether `bytes`, all that the server has sent, end before the answer's body has the announced length.
    func isCut(in bytes: [UInt8]) -> Bool {
        if case .length(let length) = framing { bytes.count - start < length } else { false }
    }

    /// Returns the body of an HTTP answer, or `nil` if it isn't complete. If `isWhole` is true, no more bytes will be
    /// read; a body that is shorter than its `Content-Length` is then returned as it is.
    func body(in bytes: [UInt8], isWhole: Bool) -> [UInt8]? {
        let rest = bytes[start...]
        switch framing {
        case .length(let length): return rest.count >= length || isWhole ? Array(rest.prefix(length)) : nil
        case .untilClosed: return isWhole ? Array(rest) : nil
        case .chunked:
            // These are the last bytes of the last chunk, or of the trailer.
            guard isWhole || bytes.suffix(4) == [0x0D, 0x0A, 0x0D, 0x0A] else { return nil }
            return AnswerHeader.joinChunks(rest)
        }
    }

    /// Returns the joined contents of a chunked body, or `nil` if the last chunk hasn't arrived.
    private static func joinChunks(_ bytes: ArraySlice<UInt8>) -> [UInt8]? {
        var joined: [UInt8] = []
        var rest = bytes
        while let line = rest.firstRange(of: [0x0D, 0x0A]) {
            let digits = String(decoding: rest[..<line.lowerBound].prefix { $0 != 0x3B }, as: UTF8.self)
            guard let size = Int(digits, radix: 16), size >= 0, size <= OutgoingRequest.answerLimit else { return nil }
            if size == 0 { return joined }
            let start = line.upperBound
            guard rest.endIndex - start >= size + 2 else { return nil }
            joined += rest[start..<start + size]
            rest = rest[(start + size + 2)...]
        }
        return nil
    }
}
