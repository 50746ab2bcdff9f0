import Testing

@testable import JSON

@Suite("Texts that can stand in JSON as they are")
struct PlainTextTests {
    @Test("are told from others, whichever byte stands wherever")
    func everyByte() {
        for length in 1...19 {
            for place in 0..<length {
                for byte in UInt8.min...UInt8.max {
                    // The neighbours of the escaped characters must not be escaped.
                    for other: UInt8 in [0x21, 0x5B, 0x80, 0xFF] {
                        var text = [UInt8](repeating: other, count: length)
                        text[place] = byte
                        let isPlain = byte >= 0x20 && byte != 0x22 && byte != 0x5C
                        if text.withUnsafeBufferPointer({ $0.isPlainInJSON }) != isPlain {
                            Issue.record("\(byte) at \(place) of \(length), among \(other)")
                        }
                    }
                }
            }
        }
    }

    @Test("an empty text is one of them")
    func empty() { #expect([UInt8]().withUnsafeBufferPointer { $0.isPlainInJSON }) }
}
