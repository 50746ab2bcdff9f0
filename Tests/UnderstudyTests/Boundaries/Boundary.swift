import Foundation
import TestSupport

/// Values at the limits of types and calendars, and all names under which the product reads input.
enum Boundary {
    /// Numbers in JSON: the limits of Int64 and their neighbours, zero, powers of two that are the limits of other
    /// types, the first and last seconds of the years of RFC 3339, fractions and exponents.
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

    /// The number of values that each name gets at one endpoint. Over all endpoints, each name gets every value; with
    /// `UNDERSTUDY_ALL_BOUNDARIES`, at each endpoint.
    static let rotations =
        ProcessInfo.processInfo.environment["UNDERSTUDY_ALL_BOUNDARIES"] == nil ? 6 : texts.count

    /// Returns every name of a field, parameter or header that the product reads anywhere, found in its sources.
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

/// A persistent connection, for tests that send tens of thousands of requests.
final class KeptConnection {
    private let port: Int
    private var wire: Wire?

    init(port: Int) { self.port = port }

    /// Sends a request. Returns `nil` if the connection was closed instead of an answer, twice.
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
