/// The version of this package.
public enum Version {
    /// As `health` reports it and `understudy --version` prints it.
    public static let current = "0.1.0"
}
