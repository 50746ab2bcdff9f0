import EmulatorCore
import HTTPServer

/// An exchange's request as a command that sends it again to this daemon, for any POSIX shell, and for fish.
///
/// Whatever the request held is quoted: nothing of it is run, and no byte of it acts on the terminal into which it is pasted.
package struct CurlCommand: Sendable {
    package let text: String
    /// What the command can't do, in a sentence each.
    package let remarks: [String]

    /// Bytes of a body that stand in the command; a longer one is read from a file.
    package static let bodyLimit = 8 << 10
    private static let headerLimit = 8 << 10
    /// What curl sets itself, what belongs to one connection, and what a browser says of its own pages.
    private static let leftOut: Set<String> = [
        "host", "content-length", "connection", "transfer-encoding", "expect", "keep-alive", "te", "upgrade",
        "accept-encoding", "upgrade-insecure-requests", "priority",
    ]

    init(_ text: String, _ remarks: [String]) {
        self.text = text
        self.remarks = remarks
    }

    /// `base` is where the exchange's host is found at this daemon, without a slash at the end; `file` the name under which a
    /// body that is too long is saved.
    package init(_ document: ExchangeDocument, base: String, file: String) {
        let exchange = document.known.exchange
        let request = exchange.request
        let query = request.query.map { "?\($0)" } ?? ""
        let url = base + document.shown(encoded: exchange.path + query)
        var remarks: [String] = []
        // Brackets and braces are no patterns here, and dots in a path stay.
        var parts = ["curl -i --globoff --path-as-is \(CurlCommand.quoted(url))"]
        if request.method == "HEAD" {
            parts[0] = "curl --head --globoff --path-as-is \(CurlCommand.quoted(url))"
        } else if request.method != (request.body.isEmpty ? "GET" : "POST") {
            parts.append("-X \(CurlCommand.quoted(request.method))")
        }
        let (headers, isComplete) = CurlCommand.headers(document.shown(headers: request.headers))
        parts += headers
        if !isComplete { remarks.append("The request had more headers than fit here.") }
        // curl adds these by itself, and calls every body a form: a name with a colon alone leaves a header out.
        for name in ["Accept", "User-Agent"] + (request.body.isEmpty ? [] : ["Content-Type"])
        where request.header(name) == nil { parts.append("-H '\(name):'") }
        let type = request.header("Content-Type")
        var source = ""
        switch document.shown(body: request.body, type: type) {
        case .withheld:
            if !request.body.isEmpty { remarks.append("The body isn't shown, since secrets couldn't be masked in it.") }
        case .text(let text): (source, parts) = CurlCommand.adding(Array(text.utf8), to: parts, file, &remarks)
        case .bytes(let bytes): (source, parts) = CurlCommand.adding(bytes, to: parts, file, &remarks)
        }
        if exchange.requestBodySize > request.body.count {
            remarks.append("Only the beginning of the body was kept.")
        }
        if document.isMasked { remarks.append("Secrets are masked: put your own in.") }
        text = source + parts.joined(separator: " \\\n  ")
        self.remarks = remarks
    }

    /// `isComplete` says whether all of them fit.
    private static func headers(
        _ headers: [(name: String, value: String)]
    ) -> (options: [String], isComplete: Bool) {
        var options: [String] = []
        var size = 0
        for header in headers {
            let name = header.name.lowercased()
            guard !leftOut.contains(name), !name.hasPrefix("sec-"), !name.hasPrefix("proxy-"),
                // curl would read a file by the name behind an @.
                !name.isEmpty, name.utf8.allSatisfy({ isLetterOrDigit($0) || "-_.".utf8.contains($0) })
            else { continue }
            // A header without a value ends with a semicolon.
            let option = "-H " + quoted(header.value.isEmpty ? "\(header.name);" : "\(header.name): \(header.value)")
            size += option.utf8.count
            guard size <= headerLimit else { return (options, false) }
            options.append(option)
        }
        return (options, true)
    }

    private static func adding(
        _ body: [UInt8], to parts: [String], _ file: String, _ remarks: inout [String]
    ) -> (source: String, parts: [String]) {
        guard !body.isEmpty else { return ("", parts) }
        guard body.count <= bodyLimit else {
            remarks.append("Save the request's body as \(file) first.")
            return ("", parts + ["--data-binary @\(file)"])
        }
        guard isPlain(body) else { return ("printf \(printed(body)) | ", parts + ["--data-binary @-"]) }
        return ("", parts + ["--data-raw \(quoted(body))"])
    }

    // MARK: - Quoting

    static func quoted(_ text: String) -> String { quoted(Array(text.utf8)) }

    /// Within single quotes everything but a single quote stands for itself; in fish, a backslash doesn't. What isn't plain is
    /// printed by escapes, in which no shell sees anything: `$'…'` would be one shell's text and another one's commands.
    private static func quoted(_ bytes: [UInt8]) -> String {
        guard isPlain(bytes) else { return "\"$(printf \(printed(bytes)))\"" }
        return "'" + String(decoding: bytes, as: UTF8.self).replacing("'", with: "'\\''") + "'"
    }

    private static func isPlain(_ bytes: [UInt8]) -> Bool {
        bytes.allSatisfy { (0x20..<0x7F).contains($0) && $0 != UInt8(ascii: "\\") }
    }

    /// For `printf`, in whose format `%` and `\` mean something, and which takes a `-` at the beginning for an option. What means
    /// something to a shell between double quotes is escaped, too: an interactive one looks for `!` there.
    private static func printed(_ bytes: [UInt8]) -> String {
        var output = "'"
        for (place, byte) in bytes.enumerated() {
            let isSafe = isLetterOrDigit(byte) || " _.,:;=&{}[]/+@()~^#*?<>|-".utf8.contains(byte)
            if byte == 0x0A {
                output += "\\n"
            } else if isSafe, place > 0 || byte != UInt8(ascii: "-") {
                output.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                output += octal(byte)
            }
        }
        return output + "'"
    }

    private static func octal(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 8)
        return "\\" + String(repeating: "0", count: 3 - digits.count) + digits
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
    }
}
