/// The version of this package.
public enum Version {
    /// The version that `health` reports and `understudy --version` prints.
    public static let current = "0.1.0"
}
