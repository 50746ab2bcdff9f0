import Foundation

/// Runs another program to its end.
package enum Shell {
    package struct Result: Sendable {
        package let status: Int32
        package let output: String
        package let errors: String
    }

    package static func run(
        _ program: String, _ arguments: [String], input: String = "", environment: [String: String] = [:]
    ) throws -> Result {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [program] + arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let (input_, output, errors) = (Pipe(), Pipe(), Pipe())
        process.standardInput = input_
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        input_.fileHandleForWriting.write(Data(input.utf8))
        try input_.fileHandleForWriting.close()
        let told = output.fileHandleForReading.readDataToEndOfFile()
        let complained = errors.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return Result(
            status: process.terminationStatus, output: String(decoding: told, as: UTF8.self),
            errors: String(decoding: complained, as: UTF8.self))
    }
}
