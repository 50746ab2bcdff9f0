/// The reason why worlds can't be read or changed at the moment.
package struct StoreFailure: Error, Equatable {
    package enum Kind: String, CaseIterable, Sendable {
        /// The store can't be reached or opened.
        case gone
        /// The store took too long to answer.
        case slow
        /// The store has no space left.
        case full
        /// The store can't be written.
        case readOnly
        /// The store's content is from a newer version of this program.
        case newer
        /// The content can't be read: it isn't a store, or it is damaged.
        case unreadable
        /// A row or value isn't declared by any part of this program, or can't be encoded.
        case undeclared
        /// The connection was lost while writing, so it isn't known whether the change was committed.
        case unknown

        /// The code in the control API's refusals, such as `storeFull`.
        package var code: String { "store\(rawValue.prefix(1).uppercased())\(rawValue.dropFirst())" }
    }

    package let kind: Kind
    /// The store's message, in a few words.
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
