import HTTPServer
import JOSE
import EmulatorCore

// GET https://avatars.githubusercontent.com/u/ID
// The picture at `avatar_url`: five by five squares, mirrored, in a colour that follows from the person's number. As PNG,
// because that is what clients expect.

enum Avatar {
    private static let squares = 5
    private static let squareSize = 12
    private static let side = squares * squareSize

    static func response(_ exchange: Exchange) -> Response {
        guard let id = UInt32(exchange.parameters["id"] ?? "") else {
            return Response(status: 404, contentType: "text/plain", body: "Not Found")
                .diagnosed(Diagnosis("the address of a picture ends with a person's number"))
        }
        return Response(
            status: 200,
            headers: [(name: "Content-Type", value: "image/png"), (name: "Cache-Control", value: "max-age=300")],
            body: png(id))
    }

    static func png(_ id: UInt32) -> [UInt8] {
        let seed = Digest.sha256("avatar:\(id)")
        // The three left columns; the right two mirror them.
        func isFilled(_ column: Int, _ row: Int) -> Bool {
            seed[min(column, squares - 1 - column) * squares + row] & 1 == 1
        }
        var rows: [UInt8] = []
        for y in 0..<side {
            rows.append(0)
            var byte: UInt8 = 0
            for x in 0..<side {
                byte = byte << 1 | (isFilled(x / squareSize, y / squareSize) ? 1 : 0)
                if x % 8 == 7 { rows.append(byte) }
            }
            if side % 8 != 0 { rows.append(byte << UInt8(8 - side % 8)) }
        }
        // One bit a pixel, with a palette.
        let header = bigEndian(UInt32(side)) + bigEndian(UInt32(side)) + [1, 3, 0, 0, 0]
        let palette: [UInt8] = [0xF0, 0xF0, 0xF0, seed[16] & 0xBF, seed[17] & 0xBF, seed[18] & 0xBF]
        return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + chunk("IHDR", header) + chunk("PLTE", palette)
            + chunk("IDAT", stored(rows)) + chunk("IEND", [])
    }

    private static func chunk(_ type: String, _ data: [UInt8]) -> [UInt8] {
        let content = Array(type.utf8) + data
        return bigEndian(UInt32(data.count)) + content + bigEndian(CRC32.checksum(content))
    }

    /// zlib's format with one stored block: <https://www.rfc-editor.org/rfc/rfc1950>.
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
