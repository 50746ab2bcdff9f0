/// Why worlds can't be read or changed at the moment.
package struct StoreFailure: Error, Equatable {
    package enum Kind: String, CaseIterable, Sendable {
        /// It can't be reached or opened.
        case gone
        /// It was asked for too long.
        case slow
        /// There is no room for what is to be written.
        case full
        /// It can't be written.
        case readOnly
        /// What it holds is of a newer version of this program.
        case newer
        /// What it holds can't be read: it isn't a store, or it is damaged.
        case unreadable
        /// A row or value that no part of this program declares, or that can't be written down.
        case undeclared
        /// It was lost while it was writing: whether it has isn't known.
        case unknown

        /// How the control API's refusals name it: `storeFull`.
        package var code: String { "store\(rawValue.prefix(1).uppercased())\(rawValue.dropFirst())" }
    }

    package let kind: Kind
    /// What the store says, in a few words.
    package let detail: String

    package init(_ kind: Kind, _ detail: String) {
        self.kind = kind
        self.detail = detail
    }

    package var diagnosis: Diagnosis {
        Diagnosis("the store of the worlds \(what) (\(detail)): \(advice)")
    }

    private var what: String {
        switch kind {
        case .gone: "can't be reached"
        case .slow: "doesn't answer in time"
        case .full: "is full"
        case .readOnly: "can't be written"
        case .newer: "belongs to a newer version"
        case .unreadable: "can't be read"
        case .undeclared: "can't keep this"
        case .unknown: "was lost while it wrote"
        }
    }

    private var advice: String {
        switch kind {
        case .gone, .slow: "nothing has changed, send the request again"
        case .full: "nothing has changed; make room, then send the request again"
        case .readOnly: "nothing has changed; let the daemon write it, then send the request again"
        case .unknown: "whether anything has changed isn't known, look before sending the request again"
        case .newer: "nothing has changed; use that version"
        case .unreadable: "nothing has changed; mend what is kept, or load a snapshot into another store"
        case .undeclared: "nothing has changed; please report this, it is a mistake of understudy's"
        }
    }
}
