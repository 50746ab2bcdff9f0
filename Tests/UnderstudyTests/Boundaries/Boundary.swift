import Foundation
import TestSupport

/// Numbers, times and durations at which types and calendars end, and the names under which the product reads any.
enum Boundary {
    /// As JSON writes them. The ends of Int64 and what lies beside and beyond them, zero, powers of two at which other
    /// types end, the first and last seconds of the years that RFC 3339 knows, fractions and exponents.
    static let numbers: [String] = [
        "-9223372036854775809", "-9223372036854775808", "-9223372036854775807", "-9223372036854776", "-62167219200",
        "-62135596800", "-4294967296", "-2147483648", "-1", "0", "-0", "-0.0", "1", "0.5", "999", "1e3", "1E+2", "1e-3",
        "2147483647", "2147483648", "4294967295", "4294967296", "100000000001", "253402300799", "253402300800",
        "253402300799999", "9007199254740992", "9007199254740993", "9223372036854775", "9223372036854776",
        "9223372036854775806", "9223372036854775807", "9223372036854775808", "18446744073709551616", "1e19", "-1e19",
        "1e308", "-1e308", "1e400", "123456789012345678901234567890",
    ]

    static let durations: [String] = ["ms", "s", "m", "h", "d"].flatMap { unit in
        numbers.map { $0 + unit } + ["365250d", "3652500d", "3652501d"]
    }

    static let times: [String] = [
        "0000-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "1970-01-01T00:00:00Z",
        "2038-01-19T03:14:08Z", "9999-12-31T23:59:59Z", "10000-01-01T00:00:00Z", "-0001-01-01T00:00:00Z",
        "292277026596-12-04T15:30:08Z", "2030-02-30T00:00:00Z", "2030-01-01T24:00:00Z", "2030-01-01T00:00:60Z",
        "2030-01-01T00:00:00+99:99", "2030-01-01T00:00:00.9999999999999999Z",
    ]

    static let texts = numbers + durations + times

    /// How many of the values each name takes at one endpoint. Over all endpoints each name takes every one; with
    /// `UNDERSTUDY_ALL_BOUNDARIES` set, it does so at each.
    static let rotations =
        ProcessInfo.processInfo.environment["UNDERSTUDY_ALL_BOUNDARIES"] == nil ? 6 : texts.count

    /// Every name by which a field, parameter or header is read anywhere in the product, found in its sources.
    static func names() throws -> [String] {
        let files = FileManager.default.enumerator(atPath: "\(Repository.root)/Sources")?.compactMap { $0 as? String }
        let name = #/[\[(]"(?<name>[A-Za-z][A-Za-z0-9_.-]{0,40})"(?:[\]),]| as )/#
        var names: Set<String> = []
        for file in files ?? [] where file.hasSuffix(".swift") {
            for match in try Repository.read("Sources/\(file)").matches(of: name) { names.insert(String(match.name)) }
        }
        return names.sorted()
    }
}

/// A connection that is kept, for tests that ask tens of thousands of times.
final class KeptConnection {
    private let port: Int
    private var wire: Wire?

    init(port: Int) { self.port = port }

    /// `nil` when the connection was closed in place of an answer, twice.
    func ask(_ method: String, _ target: String, headers: [(String, String)] = [], body: String = "") -> Answer? {
        let fields = headers.map { "\($0.0): \($0.1)\r\n" }.joined()
        let text =
            "\(method) \(target) HTTP/1.1\r\nHost: localhost\r\n\(fields)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
        for _ in 0..<2 {
            if wire == nil { wire = try? Wire(port: port) }
            wire?.send(text)
            if let answer = try? wire?.receive(toHEAD: method == "HEAD") {
                if answer.header("Connection")?.lowercased() == "close" { wire = nil }
                return answer
            }
            wire = nil
        }
        return nil
    }
}
