/// A part of the daemon that the fuzzers run with arbitrary bytes.
package struct FuzzTarget: Sendable {
    package let name: String
    /// The maximum size of an input in bytes.
    package let maximumLength: Int
    /// Runs the target with an input. It throws a ``Finding`` if a rule that holds for every input is broken.
    package let run: @Sendable ([UInt8]) throws -> Void
    /// Changes an input and keeps its structure. If it is `nil`, libFuzzer alone changes inputs.
    package let mutate: (@Sendable ([UInt8], inout FuzzRandom) -> [UInt8])?

    init(
        _ name: String, maximumLength: Int = 4096,
        mutate: (@Sendable ([UInt8], inout FuzzRandom) -> [UInt8])? = nil,
        run: @escaping @Sendable ([UInt8]) throws -> Void
    ) {
        self.name = name
        self.maximumLength = maximumLength
        self.mutate = mutate
        self.run = run
    }

    /// All targets. Each has a folder in `Tests/Fuzz/corpus`.
    package static let all: [FuzzTarget] = [
        .json, .forms, .jws, .clientSecrets, .seeds, .orders, .addresses, .times, .keys, .headers, .idTokens, .webAuthn,
        .mails, .smtp, .modelContext, .http,
    ]
}

/// An error that a fuzzer has found: a rule that an input breaks.
package struct Finding: Error, CustomStringConvertible, Sendable {
    package let description: String

    package init(_ description: String) { self.description = description }
}

func require(_ holds: Bool, _ otherwise: @autoclosure () -> String) throws(Finding) {
    guard holds else { throw Finding(otherwise()) }
}

/// A small random generator (SplitMix64). The same seed always gives the same numbers.
package struct FuzzRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

extension [UInt8] {
    /// Splits the input into lines of UTF-8. Empty lines are added until there are `count` of them.
    func lines(_ count: Int) -> [String] {
        var lines = split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map {
            String(decoding: $0, as: UTF8.self)
        }
        while lines.count < count { lines.append("") }
        return lines
    }
}
