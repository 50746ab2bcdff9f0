/// The version of this package, Understudy.
public enum Version {
    /// The version of Understudy that `health` reports and `understudy --version` prints.
    public static let current = "0.1.0"
}
