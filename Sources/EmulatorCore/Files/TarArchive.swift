/// An archive of files in the format of `tar`.
/// <https://pubs.opengroup.org/onlinepubs/9799919799/utilities/pax.html#tag_20_94_13_06>
package struct TarArchive: Sendable {
    private static let block = 512
    private var content: [UInt8] = []
    /// The time of all files, in seconds since 1970.
    private let time: Int64

    /// `time` is the time when the files were changed, in seconds since 1970.
    package init(time: Int64) { self.time = max(0, min(time, 0o77_777_777_777)) }

    /// The archive, with the two empty blocks at the end.
    package var bytes: [UInt8] { content + [UInt8](repeating: 0, count: 2 * TarArchive.block) }

    /// Adds a file. Only the last 100 bytes of the path are kept, because longer paths aren't supported.
    package mutating func add(_ path: String, _ file: [UInt8]) {
        var header = [UInt8](repeating: 0, count: TarArchive.block)
        func put(_ text: String, at place: Int, _ count: Int) {
            for (index, byte) in text.utf8.suffix(count).enumerated() { header[place + index] = byte }
        }
        put(path, at: 0, 100)
        put(TarArchive.octal(0o644, 7), at: 100, 8)
        for place in [108, 116] { put(TarArchive.octal(0, 7), at: place, 8) }
        put(TarArchive.octal(Int64(file.count), 11), at: 124, 12)
        put(TarArchive.octal(time, 11), at: 136, 12)
        put("0", at: 156, 1)
        put("ustar", at: 257, 6)
        put("00", at: 263, 2)
        // The checksum counts its own bytes as spaces.
        for place in 148..<156 { header[place] = UInt8(ascii: " ") }
        let sum = header.reduce(Int64(0)) { $0 + Int64($1) }
        put(TarArchive.octal(sum, 6) + "\0 ", at: 148, 8)
        content += header + file
        let rest = file.count % TarArchive.block
        if rest > 0 { content += [UInt8](repeating: 0, count: TarArchive.block - rest) }
    }

    /// Returns the number in octal, with leading zeros for `digits` digits.
    private static func octal(_ number: Int64, _ digits: Int) -> String {
        let text = String(number, radix: 8)
        return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
    }
}
