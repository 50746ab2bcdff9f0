import ArgumentParser
import Platform

/// Options from environment variables, for containers. The command line wins.
enum Environment {
    static func value(_ name: String) -> String? { variable("UNDERSTUDY_\(name)") }

    /// The variable's value; `nil` when it isn't set, or empty.
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

    /// The port to listen at. In Kubernetes, a Service that is called `understudy` sets the variable to `tcp://HOST:PORT` in
    /// every pod, which isn't about the pod itself.
    static func port() throws -> UInt16? {
        guard value("PORT")?.hasPrefix("tcp://") != true else { return nil }
        return try value("PORT", as: UInt16.self, expected: "a port, 0 to 65535")
    }

    /// Several values, separated by colons.
    static func list(_ name: String) -> [String] {
        value(name)?.split(separator: ":").map(String.init) ?? []
    }
}

/// Standard output and standard error, unbuffered.
enum Terminal {
    /// Ends the process with 1 when the line can't be written, so that whoever reads the output knows that it isn't
    /// complete.
    static func print(_ line: String) {
        guard let reason = write(line, to: STDOUT_FILENO) else { return }
        complain("understudy: standard output can't be written: \(reason)")
        exit(1)
    }

    /// The same, for what is no line.
    static func write(_ bytes: [UInt8]) {
        guard let reason = write(bytes, to: STDOUT_FILENO) else { return }
        complain("understudy: standard output can't be written: \(reason)")
        exit(1)
    }

    static func complain(_ line: String) { _ = write(line, to: STDERR_FILENO) }

    /// Writes a line. Returns the error that kept it from being written, if any.
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

    /// Opens standard input, output and error where the process was started without them. Otherwise the first sockets
    /// would get their descriptors, and the log would be sent to a client.
    static func occupyStandardDescriptors() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            // Where there is no /dev, the root directory takes its place: it can't be read or written.
            if open("/dev/null", O_RDWR) < 0 { _ = open("/", O_RDONLY) }
        }
    }
}
