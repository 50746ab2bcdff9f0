import Time

/// The start and the machine of a run.
struct RunTime {
    let began = MachineClock.now
    private let start = ContinuousClock.now

    /// The seconds since the start.
    var seconds: Double { (ContinuousClock.now - start) / .seconds(1) }

    /// The machine's name.
    var host: String { MachineName.current }
}
