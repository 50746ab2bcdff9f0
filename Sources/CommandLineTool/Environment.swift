import ArgumentParser
import Platform

/// Options that are set by environment variables, for containers. Options on the command line take precedence.
enum Environment {
    static func value(_ name: String) -> String? { variable("UNDERSTUDY_\(name)") }

    /// Returns an environment variable's value, or `nil` if it is unset or empty.
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

    /// Returns the port to listen on, from `UNDERSTUDY_PORT`. In Kubernetes, a Service named `understudy` sets this
    /// variable to `tcp://HOST:PORT` in every pod. Such a value is ignored.
    static func port() throws -> UInt16? {
        guard value("PORT")?.hasPrefix("tcp://") != true else { return nil }
        return try value("PORT", as: UInt16.self, expected: "a port, 0 to 65535")
    }

    /// Returns the values in an environment variable, which are separated by colons.
    static func list(_ name: String) -> [String] {
        value(name)?.split(separator: ":").map(String.init) ?? []
    }
}

/// Writes to standard output and standard error without buffering.
enum Terminal {
    /// Prints a line to standard output. If that fails, the process exits with code 1, so that the reader of the output
    /// knows that it is incomplete.
    static func print(_ line: String) {
        guard let reason = write(line, to: STDOUT_FILENO) else { return }
        complain("understudy: can't write to standard output: \(reason)")
        exit(1)
    }

    /// Prints bytes to standard output, without a line break. If that fails, the process exits with code 1.
    static func write(_ bytes: [UInt8]) {
        guard let reason = write(bytes, to: STDOUT_FILENO) else { return }
        complain("understudy: can't write to standard output: \(reason)")
        exit(1)
    }

    static func complain(_ line: String) { _ = write(line, to: STDERR_FILENO) }

    /// Writes a line to a descriptor. Returns the error if that fails.
    private static func write(_ line: String, to descriptor: Int32) -> String? {
        write(Array((line + "\n").utf8), to: descriptor)
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) -> String? {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Platform.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if count == 0 || errno != EINTR {
                return String(cString: strerror(errno))
            }
        }
        return nil
    }

    /// Opens standard input, output and error if the process was started without them. Otherwise the first sockets
    /// would get these descriptors, and the log would be sent to a client.
    static func occupyStandardDescriptors() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            // Without /dev, the root directory serves: it can't be read or written.
            if open("/dev/null", O_RDWR) < 0 { _ = open("/", O_RDONLY) }
        }
    }
}
