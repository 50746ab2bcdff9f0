/// Why a server didn't start, or couldn't export: one line for each fault of the seeds, or one line in all.
public struct StartError: Error, CustomStringConvertible, Sendable {
    /// The lines, ready to be shown to a person.
    public let description: String
}
