import Control
import EmulatorCore
import HTTPServer
import Recordings

/// The requests, responses and pauses of a sign-in, line by line. The inspector shows them as a sequence diagram and as
/// a list of steps.
struct Conversation {
    enum Line {
        /// A pause in which no request was being answered, in microseconds.
        case pause(Int64)
        case request(FlowStep)
        case answer(FlowStep)
        /// A step that the browser takes after a response and that doesn't reach the daemon, such as following a
        /// redirect to the client. `label` says what the browser brings, such as a code, and `place` says where the
        /// browser goes.
        case onward(FlowStep, to: Party, label: String, place: String)
    }

    let lines: [Line]
    /// The parties of the sign-in, from left to right in the diagram.
    let parties: [Party]
    /// The time at which the sign-in began, by the machine's clock, in microseconds.
    let began: Int64

    /// The shortest pause between requests that is shown, in microseconds.
    private static let shortestPause: Int64 = 1_000_000

    /// Makes the lines of a sequence diagram for `steps`, which may be only some of the sign-in's steps.
    init(_ flow: Flow, _ steps: ArraySlice<FlowStep>, isOwn: (String) -> Bool) {
        began = flow.began
        var inner: [String: [FlowStep]] = [:]
        let shown = Set(steps.map(\.exchange.id))
        for step in steps {
            if let parent = step.exchange.parent, shown.contains(parent) { inner[parent, default: []].append(step) }
        }
        var lines: [Line] = []
        func add(_ step: FlowStep) {
            lines.append(.request(step))
            for step in (inner[step.exchange.id] ?? []).sorted(by: Conversation.isEarlier) { add(step) }
            lines.append(.answer(step))
            if let onward = Conversation.onward(step, isOwn) { lines.append(onward) }
        }
        var reached: Int64?
        for step in steps.filter({ $0.exchange.parent.map { !shown.contains($0) } ?? true }).sorted(
            by: Conversation.isEarlier)
        {
            if let reached, step.exchange.began - reached >= Conversation.shortestPause {
                lines.append(.pause(step.exchange.began - reached))
            }
            reached = max(reached ?? 0, step.exchange.began + step.exchange.duration)
            add(step)
        }
        self.lines = lines
        var parties = Set(steps.flatMap { [$0.sender, $0.receiver] })
        for case .onward(_, let party, _, _) in lines { parties.insert(party) }
        self.parties = parties.sorted { ($0.place, $0.title) < ($1.place, $1.title) }
    }

    private static func isEarlier(_ left: FlowStep, _ right: FlowStep) -> Bool {
        (left.exchange.began, left.exchange.order) < (right.exchange.began, right.exchange.order)
    }

    // MARK: - The browser's next step

    /// Returns the line of a sequence diagram in which the browser takes an authorization response to the client, by a
    /// redirect or a form (`response_mode=form_post`). Returns `nil` if the daemon itself serves the redirect's host.
    /// The browser's request is then recorded, and has its own line.
    private static func onward(_ step: FlowStep, _ isOwn: (String) -> Bool) -> Line? {
        guard [.authorization, .decision].contains(step.step.kind), step.sender == .browser else { return nil }
        let answer = step.exchange.response
        let notes = step.exchange.notes
        guard let label = carried(notes) else { return nil }
        if let location = answer.header("Location") {
            guard !isOwn(location) else { return nil }
            let isWeb = ["http://", "https://"].contains { location.lowercased().hasPrefix($0) }
            let staysInBrowser = isWeb && location.contains("#")
            // A fragment isn't sent to a server: a script of the client's page reads it.
            guard !staysInBrowser else { return nil }
            let place = location.prefix { $0 != "?" && $0 != "#" }
            return .onward(
                step, to: isWeb ? .backend : .app, label: label,
                place: "GET \(ShownText.plain(String(place), limit: 100))")
        }
        guard (200..<300).contains(answer.status), notes.request["responsemode"] == "form_post",
            let place = notes.request["redirecturi"]
        else { return nil }
        return .onward(step, to: .backend, label: label, place: "POST \(ShownText.plain(place, limit: 100))")
    }

    private static func carried(_ notes: ExchangeNotes) -> String? {
        let words = FlowStep.words(for: notes)
        if !words.isEmpty { return words }
        return notes.error.map { "error \(ShownText.plain(FlowStep.name(ofError: $0), limit: 60))" }
    }
}
