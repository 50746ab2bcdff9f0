import EmulatorCore

// A message as it leaves for its recipients: behind a relay, that is the person who hides behind the address.

extension InboxMessage {
    var handOnSender: String { message.relay?.sender ?? message.envelope.from }

    var handOnRecipients: [String] { message.relay?.forwardedTo.map { [$0] } ?? message.envelope.to }

    var handOnContent: [UInt8] { forwarded ?? raw }
}
