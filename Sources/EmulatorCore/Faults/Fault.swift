import HTTPServer
import JOSE
import JSON

/// A fault that a test or the seed requests in advance: the HTTP requests or mails to which it applies, how often it
/// applies, and what goes wrong.
package struct Fault: SchemaObject {
    package static let schemaName: String? = "Fault"

    /// The ID that a fault gets when a test requests it, or when the seed with the fault is read; empty before.
    package private(set) var id = ""
    package let match: FaultMatch
    /// The number of matching requests that are answered normally before the fault applies.
    package let after: Int
    /// The number of requests to which the fault applies; `nil` if it applies to all.
    package let times: Int?
    /// The probability from 0 to 1 that the fault applies to a matching request, decided by the test world's random
    /// numbers.
    package let probability: Double
    package let effect: FaultEffect
    /// The length of the fault's JSON in bytes.
    fileprivate let size: Int
    package fileprivate(set) var seen = 0
    package fileprivate(set) var done = 0

    package init(_ fields: inout Fields) {
        match = fields.object("match", FaultMatch.self, "Which requests to affect; all by default.")
        after = fields(
            "after", .integer(0...1_000_000), default: 0, "The number of matching requests to skip first.")
        times = fields(
            "times", .nullable(.integer(1...1_000_000)), default: 1,
            "How many requests to affect; null: all.")
        probability = fields(
            "probability", .number(0...1), default: 1,
            "The fault's probability for each matching request.")
        effect = fields("effect", .object(FaultEffect.self), "The fault's effect on responses.")
        size = JSONValue.object(fields.written).text.utf8.count
    }

    package func named(_ id: String) -> Fault {
        var fault = self
        fault.id = id
        return fault
    }

    package var json: JSONValue {
        var object = JSONObject([("id", .string(id)), ("match", match.document), ("after", .integer(Int64(after)))])
        object["times"] = times.map { .integer(Int64($0)) } ?? .null
        object["probability"] = Int64(exactly: probability).map { .integer($0) } ?? .number(probability)
        object["effect"] = effect.document
        object["seen"] = .integer(Int64(seen))
        object["done"] = .integer(Int64(done))
        return .object(object)
    }

    /// Returns a description of the fault, which is shown in diagnoses and with recorded requests.
    func summary(of scenario: String?) -> String {
        let origin = scenario.map { " of scenario \($0)" } ?? ""
        return "ordered fault \(id)\(origin): \(BoundedText.shortened(effect.document.text, to: 1_000))"
    }

    /// Returns whether the scenario `scenario` is a rehearsal: a scenario with surprising but legal behaviour of a
    /// provider.
    static func isRehearsal(_ scenario: String?) -> Bool { scenario?.hasPrefix("rehears") ?? false }

    /// Returns whether `summary`, the description of a fault, says that a rehearsal requested the fault. A rehearsal is
    /// a scenario with surprising but legal behaviour of a provider.
    package static func isRehearsed(_ summary: String) -> Bool {
        summary.hasPrefix("ordered fault") && summary.contains(" of scenario rehears")
    }

    /// Returns whether `summary` describes a fault that every client must survive: any fault of a rehearsal scenario,
    /// and any fault that only delays a response, shuffles its members, or adds a new signing key without withdrawing
    /// all old ones.
    package static func isLegal(_ summary: String) -> Bool {
        if isRehearsed(summary) { return true }
        guard summary.hasPrefix("ordered fault"), let mark = summary.firstRange(of: ": "),
            let effect = (try? JSONValue(parsing: Array(summary[mark.upperBound...].utf8)))?.object
        else { return false }
        return effect.members.allSatisfy { member in
            ["delay", "shuffle"].contains(member.key) || member.key == "rotateKeys" && member.value != "drop"
        }
    }

    fileprivate var isSpent: Bool { times.map { done >= $0 } ?? false }
}

extension Fault: Codable {
    /// Encodes the fault as a string that contains JSON, which keeps the order of the members in the fault's response
    /// body and headers. A decoder of JSON objects would lose this order.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(json.text)
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let order = try JSONValue(parsing: container.decode(String.self), limits: .answer)
        self.init(reading: order)
        id = order["id"]?.string ?? ""
        seen = Fault.count(order["seen"])
        done = Fault.count(order["done"])
    }
}

extension Fault {
    /// Reads one of the counts of requests in a fault's JSON, limited so that counting can't overflow.
    private static func count(_ value: JSONValue?) -> Int {
        value?.integer.map { Int(clamping: min(max($0, 0), 1 << 53)) } ?? 0
    }
}

/// The faults of the test world's seed, and those that tests have requested, oldest first.
package struct FaultQueue: SeededValue, BoundedValue {
    package static let name = "faults"
    package static let limit = 1_000
    /// The largest number of bytes that the JSON of all requested faults together may have.
    package static let sizeLimit = 8 << 20

    /// The requested faults. A fault stays here during its last use, until the HTTP request has been answered. If the
    /// fault had no effect on the response, the use doesn't count.
    private var faults: [Fault] = []
    private var made = 0
    /// A random number that tells this queue from the queue before a reset of the test world, whose faults have the
    /// same IDs. It is 0 until a test requests a fault, or a request uses one of the seed's faults.
    private(set) var mark: UInt32 = 0

    package init() {}

    init(_ seed: Seed) { faults = seed.faults }

    package var queued: [Fault] { faults.filter { !$0.isSpent } }
    package var isEmpty: Bool { faults.isEmpty }

    package mutating func nextID() -> String {
        made += 1
        return "fault-\(made)"
    }

    /// Adds a fault that a test requested to the queue. Returns `false` when the queue would have too many faults or
    /// bytes.
    package mutating func add(_ fault: Fault) -> Bool {
        let size = faults.reduce(fault.size) { $0 + $1.size }
        guard faults.count < FaultQueue.limit, size <= FaultQueue.sizeLimit else { return false }
        setMark()
        faults.append(fault)
        return true
    }

    /// The queue for a snapshot. It has no mark, so that requests that began before the snapshot was loaded don't count in
    /// it.
    var withoutMark: FaultQueue {
        var queue = self
        queue.mark = 0
        return queue
    }

    private mutating func setMark() { if mark == 0 { mark = .random(in: 1...UInt32.max) } }

    /// The reason why the queue has more faults or bytes than a test world allows, as a clause; `nil` if it hasn't.
    var excess: String? {
        guard faults.count > FaultQueue.limit || faults.reduce(0, { $0 + $1.size }) > FaultQueue.sizeLimit else {
            return nil
        }
        return "more than \(FaultQueue.limit) faults, or more than \(FaultQueue.sizeLimit) bytes of faults"
    }

    package mutating func removeAll() { faults = [] }

    package mutating func remove(_ id: String) -> Bool {
        let count = faults.count
        faults.removeAll { $0.id == id }
        return faults.count < count
    }

    /// Counts a request for every fault that matches it, and returns the first fault that applies to this request.
    package mutating func beginUse(_ random: inout Randomness, where matches: (Fault) -> Bool) -> Fault? {
        setMark()
        var taken: Fault?
        for place in faults.indices where !faults[place].isSpent && matches(faults[place]) {
            faults[place].seen += 1
            guard taken == nil, faults[place].seen > faults[place].after else { continue }
            if faults[place].probability < 1, random.fraction() >= faults[place].probability { continue }
            faults[place].done += 1
            taken = faults[place]
        }
        return taken
    }

    /// Ends the use of the fault `id` after a request has been answered. If `isUsed` is false, the fault had no effect
    /// on the request, and the use isn't counted. `mark` is the queue's mark when the use began. If it has changed, the
    /// fault is gone.
    package mutating func finish(_ id: String, _ mark: UInt32, isUsed: Bool) {
        guard mark == self.mark, let place = faults.firstIndex(where: { $0.id == id }) else { return }
        if !isUsed {
            faults[place].done -= 1
            faults[place].seen -= 1
        }
        if faults[place].isSpent { faults.remove(at: place) }
    }
}

extension Randomness {
    /// Returns a random number from 0, inclusive, to 1, exclusive.
    fileprivate mutating func fraction() -> Double {
        Double(bytes(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }) / 4_294_967_296
    }
}
