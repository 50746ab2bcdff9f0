/// The reason why a server couldn't start or export: a line for each error in the seeds, or a single line.
public struct StartError: Error, CustomStringConvertible, Sendable {
    /// The lines, ready to be shown to the user.
    public let description: String
}
