import EmulatorCore
import HTTPServer
import JOSE

/// A picture for a person without one: five by five squares, mirrored, in a colour that follows from a text. It is a
/// PNG, because clients expect that.
package enum Avatar {
    private static let squares = 5
    /// The longest side. A picture of this size fits in one block of its format.
    private static let longest = 720

    /// Returns a picture. The same text always gives the same picture.
    package static func response(of text: String, width: Int = 60, height: Int = 60) -> Response {
        Response(
            status: 200,
            headers: [(name: "Content-Type", value: "image/png"), (name: "Cache-Control", value: "max-age=300")],
            body: png(of: text, width: min(max(width, 1), longest), height: min(max(height, 1), longest)))
    }

    private static func png(of text: String, width: Int, height: Int) -> [UInt8] {
        let seed = Digest.sha256(text)
        // The right two columns mirror the left ones.
        func isFilled(_ column: Int, _ row: Int) -> Bool {
            seed[min(column, squares - 1 - column) * squares + row] & 1 == 1
        }
        var rows: [UInt8] = []
        for y in 0..<height {
            rows.append(0)
            var byte: UInt8 = 0
            for x in 0..<width {
                byte = byte << 1 | (isFilled(x * squares / width, y * squares / height) ? 1 : 0)
                if x % 8 == 7 { rows.append(byte) }
            }
            if width % 8 != 0 { rows.append(byte << UInt8(8 - width % 8)) }
        }
        // Each pixel has one bit, with a palette.
        let header = bigEndian(UInt32(width)) + bigEndian(UInt32(height)) + [1, 3, 0, 0, 0]
        let palette: [UInt8] = [0xF0, 0xF0, 0xF0, seed[16] & 0xBF, seed[17] & 0xBF, seed[18] & 0xBF]
        return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + chunk("IHDR", header) + chunk("PLTE", palette)
            + chunk("IDAT", stored(rows)) + chunk("IEND", [])
    }

    private static func chunk(_ type: String, _ data: [UInt8]) -> [UInt8] {
        let content = Array(type.utf8) + data
        return bigEndian(UInt32(data.count)) + content + bigEndian(CRC32.checksum(content))
    }

    /// Returns the data in zlib's format, with one stored block: <https://www.rfc-editor.org/rfc/rfc1950>.
    private static func stored(_ data: [UInt8]) -> [UInt8] {
        var (a, b) = (UInt32(1), UInt32(0))
        for byte in data {
            a = (a + UInt32(byte)) % 65_521
            b = (b + a) % 65_521
        }
        let length = UInt16(data.count)
        let lengths = [length, ~length].flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }
        return [0x78, 0x01, 0x01] + lengths + data + bigEndian(b << 16 | a)
    }

    private static func bigEndian(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value.bigEndian, Array.init) }
}
