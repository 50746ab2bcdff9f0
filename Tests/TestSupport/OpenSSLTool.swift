import Foundation

/// OpenSSL's command line, with keys and messages in a temporary folder.
package final class OpenSSLTool {
    private let folder: URL

    package init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "openssl-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// A command that failed.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// Writes a file, and returns its path.
    package func file(_ name: String, _ bytes: [UInt8]) throws -> String {
        let place = folder.appending(path: name)
        try Data(bytes).write(to: place)
        return place.path()
    }

    /// Runs `openssl`, and returns its output.
    @discardableResult
    package func run(_ arguments: [String]) throws -> String {
        let result = try Shell.run("openssl", arguments)
        guard result.status == 0 else {
            throw Failure(description: "openssl \(arguments.joined(separator: " ")): \(result.errors)\(result.output)")
        }
        return result.output
    }

    /// Makes a key pair on a curve such as `P-256`.
    package func ellipticKey(_ curve: String) throws -> (privatePEM: String, publicPEM: String) {
        let pem = try run(["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:\(curve)"])
        return (pem, try run(["pkey", "-in", file("generated.pem", Array(pem.utf8)), "-pubout"]))
    }

    /// Signs a message with SHA-256. An ECDSA signature is in DER.
    package func signature(of message: [UInt8], privatePEM: String) throws -> [UInt8] {
        let path = folder.appending(path: "made.sig").path()
        try run([
            "dgst", "-sha256", "-sign", file("private.pem", Array(privatePEM.utf8)), "-out", path,
            file("message", message),
        ])
        return try Array(Data(contentsOf: URL(filePath: path)))
    }

    /// Whether a signature with SHA-256 is the key's. An ECDSA signature must be in DER.
    package func isValid(_ signature: [UInt8], of message: [UInt8], publicPEM: String) throws -> Bool {
        try Shell.run(
            "openssl",
            [
                "dgst", "-sha256", "-verify", file("public.pem", Array(publicPEM.utf8)), "-signature",
                file("given.sig", signature), file("message", message),
            ]
        ).output.contains("Verified OK")
    }

    /// Encodes the two halves of an ECDSA signature of P-256 as DER.
    package func der(ofRaw raw: [UInt8]) throws -> [UInt8] {
        let hex = raw.map { String(format: "%02x", $0) }
        let middle = hex.count / 2
        let text = """
            asn1=SEQUENCE:signature
            [signature]
            r=INTEGER:0x\(hex[..<middle].joined())
            s=INTEGER:0x\(hex[middle...].joined())

            """
        let path = folder.appending(path: "built.der").path()
        try run(["asn1parse", "-genconf", file("asn1.cnf", Array(text.utf8)), "-noout", "-out", path])
        return try Array(Data(contentsOf: URL(filePath: path)))
    }

    /// Decodes the two halves of an ECDSA signature of P-256 from DER.
    package func raw(ofDER der: [UInt8]) throws -> [UInt8] {
        let printed = try run(["asn1parse", "-inform", "DER", "-in", file("given.der", der)])
        let halves = printed.matches(of: /INTEGER +:([0-9A-F]+)/).map { String($0.output.1) }
        guard halves.count == 2, halves.allSatisfy({ $0.count <= 64 }) else { throw Failure(description: printed) }
        let digits = Array(halves.map { String(repeating: "0", count: 64 - $0.count) + $0 }.joined())
        return stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0...$0 + 1]), radix: 16) }
    }
}
