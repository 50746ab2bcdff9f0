import ArgumentParser
import Glibc

/// Options from environment variables, for containers. The command line wins.
enum Environment {
    static func value(_ name: String) -> String? { variable("UNDERSTUDY_\(name)") }

    /// `nil` when it is empty, too.
    static func variable(_ name: String) -> String? {
        guard let value = getenv(name).map({ String(cString: $0) }), !value.isEmpty else { return nil }
        return value
    }

    static func value<T: ExpressibleByArgument>(_ name: String, as type: T.Type, expected: String) throws -> T? {
        guard let text = value(name) else { return nil }
        guard let value = T(argument: text) else {
            throw ValidationError("UNDERSTUDY_\(name) is \"\(text)\": expected \(expected)")
        }
        return value
    }

    /// Several values, separated by colons.
    static func list(_ name: String) -> [String] {
        value(name)?.split(separator: ":").map(String.init) ?? []
    }
}

/// Standard output and standard error, unbuffered.
enum Terminal {
    static func print(_ line: String) { write(line, to: STDOUT_FILENO) }

    static func complain(_ line: String) { write(line, to: STDERR_FILENO) }

    static func write(_ line: String, to descriptor: Int32) {
        var rest = Array((line + "\n").utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}
