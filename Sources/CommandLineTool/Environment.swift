import ArgumentParser
import Platform

/// Options from environment variables, for containers. Options on the command line override them.
enum Environment {
    static func value(_ name: String) -> String? { variable("UNDERSTUDY_\(name)") }

    /// Returns the variable's value, or `nil` if it is unset or empty.
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

    /// Returns the port to listen on. In Kubernetes, a Service named `understudy` sets this variable to
    /// `tcp://HOST:PORT` in every pod; that value is ignored.
    static func port() throws -> UInt16? {
        guard value("PORT")?.hasPrefix("tcp://") != true else { return nil }
        return try value("PORT", as: UInt16.self, expected: "a port, 0 to 65535")
    }

    /// Returns several values separated by colons.
    static func list(_ name: String) -> [String] {
        value(name)?.split(separator: ":").map(String.init) ?? []
    }
}

/// Standard output and standard error, unbuffered.
enum Terminal {
    /// Prints a line. If it can't be written, the process ends with 1, so that the reader knows that the output is
    /// incomplete.
    static func print(_ line: String) {
        guard let reason = write(line, to: STDOUT_FILENO) else { return }
        complain("understudy: standard output can't be written: \(reason)")
        exit(1)
    }

    /// Prints bytes without a line break, with the same consequence.
    static func write(_ bytes: [UInt8]) {
        guard let reason = write(bytes, to: STDOUT_FILENO) else { return }
        complain("understudy: standard output can't be written: \(reason)")
        exit(1)
    }

    static func complain(_ line: String) { _ = write(line, to: STDERR_FILENO) }

    /// Writes a line. Returns the error if that fails.
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
