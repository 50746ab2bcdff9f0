/// Finds numbers in a JSON text without decoding it: a decoder returns what fits the type that is asked for, and
/// doesn't report numbers that are too large.
enum JSONNumbers {
    /// Returns the first number that is further from zero than `limit`, as it is written; `nil` when there is none. It
    /// doesn't check that the text is JSON.
    static func first(beyond limit: Double, in bytes: [UInt8]) -> String? {
        var place = bytes.startIndex
        while place < bytes.endIndex {
            switch bytes[place] {
            case UInt8(ascii: "\""): place = endOfText(from: place, in: bytes)
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                let end = bytes[place...].firstIndex { !isPart($0) } ?? bytes.endIndex
                let number = String(decoding: bytes[place..<end], as: UTF8.self)
                if let value = Double(number), value.magnitude > limit { return number }
                place = end
            default: place += 1
            }
        }
        return nil
    }

    /// Returns the index behind the quotation mark that ends the string at `start`.
    private static func endOfText(from start: Int, in bytes: [UInt8]) -> Int {
        var place = start + 1
        while place < bytes.endIndex, bytes[place] != UInt8(ascii: "\"") {
            place += bytes[place] == UInt8(ascii: "\\") ? 2 : 1
        }
        return place + 1
    }

    private static func isPart(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "e"), UInt8(ascii: "E"):
            true
        default: false
        }
    }
}
