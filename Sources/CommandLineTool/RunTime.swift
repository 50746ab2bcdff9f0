import Time

/// When and where a run began.
struct RunTime {
    let began = MachineClock.now
    private let start = ContinuousClock.now

    /// How long it has taken so far.
    var seconds: Double { (ContinuousClock.now - start) / .seconds(1) }

    /// The machine's name.
    var host: String { MachineName.current }
}
