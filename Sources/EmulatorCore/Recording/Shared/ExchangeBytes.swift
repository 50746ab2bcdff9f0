import HTTPServer
import Time

// An exchange as bytes, as replicas share it: the format's version in one byte, then the fields. Each is a number that says which
// one it is, in one byte, how many bytes its value has, and the value. Numbers are written in base 128, the lowest digits first,
// with the high bit set in all bytes but the last. Fields that a version doesn't know are skipped.
//
// JSON would have to write the bodies, which are most of it, as base64.

/// The numbers of the fields.
private enum Tag: UInt8 {
    case id = 1
    case parent, world, host, path, client, method, target, query, label, requestHeaders, requestBody, flags
    case status, responseHeaders, responseBody, requestBodySize, responseBodySize
    case time, began, duration, fault
    case sender, recipients, user, messages
}

/// What is true of an exchange.
private struct Flags: OptionSet {
    let rawValue: Int
    static let isSecure = Flags(rawValue: 1)
    static let isDropped = Flags(rawValue: 2)
    static let isCutOff = Flags(rawValue: 4)
    static let isMail = Flags(rawValue: 8)
    static let isSecureMail = Flags(rawValue: 16)
}

extension RecordedExchange {
    private static let formatVersion: UInt8 = 1

    /// What `init(decoding:)` reads. Its codes and tokens aren't written: they are found again.
    package var encoded: [UInt8] {
        var writer = FieldWriter(capacity: request.body.count + response.body.count + 1_024)
        writer.bytes.append(RecordedExchange.formatVersion)
        writer.add(.id, id)
        writer.add(.parent, parent)
        writer.add(.world, world)
        writer.add(.host, host)
        writer.add(.path, path)
        writer.add(.client, knownClient)
        writer.add(.method, request.method)
        // Most are asked for under the address that is meant.
        if request.path != path { writer.add(.target, request.path) }
        writer.add(.query, request.query)
        writer.add(.label, request.label)
        writer.add(.requestHeaders, request.headers.flatMap { [$0.name, $0.value] })
        writer.add(.requestBody, request.body)
        writer.add(.flags, flags.rawValue)
        writer.add(.status, response.status)
        writer.add(.responseHeaders, response.headers.flatMap { [$0.name, $0.value] })
        writer.add(.responseBody, response.body)
        if isCut {
            writer.add(.requestBodySize, requestBodySize)
            writer.add(.responseBodySize, responseBodySize)
        }
        writer.add(.time, Int(clamping: time.milliseconds))
        writer.add(.began, Int(clamping: began))
        writer.add(.duration, Int(clamping: duration))
        writer.add(.fault, fault)
        if let mail {
            writer.add(.sender, mail.sender)
            writer.add(.recipients, mail.recipients)
            writer.add(.user, mail.user)
            writer.add(.messages, mail.messages)
        }
        return writer.bytes
    }

    private var flags: Flags {
        var flags: Flags = request.isSecure ? .isSecure : []
        switch response.delivery {
        case .dropped: flags.insert(.isDropped)
        case .cut: flags.insert(.isCutOff)
        case .whole, .stream: break
        }
        if let mail {
            flags.insert(.isMail)
            if mail.isSecure { flags.insert(.isSecureMail) }
        }
        return flags
    }

    /// `nil` for anything but what `encoded` has written, and for what a later version wrote in another format.
    package convenience init?(decoding bytes: [UInt8]) {
        guard bytes.first == RecordedExchange.formatVersion, let fields = FieldReader(bytes) else { return nil }
        guard let id = fields.text(.id), let world = fields.text(.world), let path = fields.text(.path),
            let method = fields.text(.method), let time = Instant(milliseconds: Int64(fields.number(.time) ?? 0)),
            let requestHeaders = fields.pairs(.requestHeaders), let responseHeaders = fields.pairs(.responseHeaders),
            let recipients = fields.texts(.recipients), let messages = fields.texts(.messages)
        else { return nil }
        // A message of the daemon's own that nobody has answered has no status.
        let status = fields.number(.status) ?? 0
        guard status == 0 || (100...999).contains(status) else { return nil }
        let flags = Flags(rawValue: fields.number(.flags) ?? 0)
        var request = Request(
            method: method, target: "/", headers: requestHeaders, body: fields.bytes(.requestBody),
            isSecure: flags.contains(.isSecure), label: fields.text(.label))
        request.path = fields.text(.target) ?? path
        request.query = fields.text(.query)
        var response = Response(status: status, headers: responseHeaders, body: fields.bytes(.responseBody))
        if flags.contains(.isDropped) { response.delivery = .dropped }
        if flags.contains(.isCutOff) { response.delivery = .cut }
        let mail =
            flags.contains(.isMail)
            ? RecordedMail(
                sender: fields.text(.sender), recipients: recipients, user: fields.text(.user),
                isSecure: flags.contains(.isSecureMail), messages: messages) : nil
        self.init(
            id: id, parent: fields.text(.parent), world: world, host: fields.text(.host), path: path,
            client: fields.text(.client), request: request, response: response,
            sizes: (
                request: max(request.body.count, fields.number(.requestBodySize) ?? 0),
                response: max(response.body.count, fields.number(.responseBodySize) ?? 0)
            ), time: time, began: Int64(fields.number(.began) ?? 0), duration: Int64(fields.number(.duration) ?? 0),
            fault: fields.text(.fault), mail: mail)
    }
}

private struct FieldWriter {
    var bytes: [UInt8] = []

    init(capacity: Int) { bytes.reserveCapacity(capacity) }

    private mutating func append(number: Int) {
        var rest = UInt(bitPattern: number)
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    private mutating func append(text: String) {
        append(number: text.utf8.count)
        bytes.append(contentsOf: text.utf8)
    }

    mutating func add(_ tag: Tag, _ text: String?) {
        guard let text else { return }
        bytes.append(tag.rawValue)
        append(text: text)
    }

    mutating func add(_ tag: Tag, _ number: Int) {
        guard number != 0 else { return }
        bytes.append(tag.rawValue)
        bytes.append(UInt8(truncatingIfNeeded: FieldWriter.length(of: number)))
        append(number: number)
    }

    mutating func add(_ tag: Tag, _ value: [UInt8]) {
        guard !value.isEmpty else { return }
        bytes.append(tag.rawValue)
        append(number: value.count)
        bytes.append(contentsOf: value)
    }

    mutating func add(_ tag: Tag, _ texts: [String]) {
        guard !texts.isEmpty else { return }
        bytes.append(tag.rawValue)
        append(number: texts.reduce(0) { $0 + FieldWriter.length(of: $1.utf8.count) + $1.utf8.count })
        for text in texts { append(text: text) }
    }

    /// How many bytes a number takes.
    private static func length(of number: Int) -> Int {
        max(1, (UInt.bitWidth - UInt(bitPattern: number).leadingZeroBitCount + 6) / 7)
    }
}

/// The fields of an exchange. Whatever the bytes are, it stays within them.
private struct FieldReader {
    private let all: [UInt8]
    /// Where the value of each field lies.
    private var places: [UInt8: Range<Int>] = [:]

    /// `nil` where the bytes end within a field.
    init?(_ bytes: [UInt8]) {
        all = bytes
        var next = 1
        while next < bytes.count {
            let tag = bytes[next]
            next += 1
            guard let length = FieldReader.number(in: bytes, at: &next, before: bytes.count),
                (0...bytes.count - next).contains(length)
            else { return nil }
            places[tag] = next..<next + length
            next += length
        }
    }

    private static func number(in bytes: [UInt8], at place: inout Int, before end: Int) -> Int? {
        var number: UInt = 0
        var shift: UInt = 0
        while place < end, shift < 64 {
            let byte = bytes[place]
            place += 1
            number |= UInt(byte & 0x7F) << shift
            if byte < 0x80 { return Int(bitPattern: number) }
            shift += 7
        }
        return nil
    }

    func bytes(_ tag: Tag) -> [UInt8] { places[tag.rawValue].map { Array(all[$0]) } ?? [] }

    func text(_ tag: Tag) -> String? { places[tag.rawValue].map { String(decoding: all[$0], as: UTF8.self) } }

    func number(_ tag: Tag) -> Int? {
        places[tag.rawValue].flatMap { range in
            var place = range.lowerBound
            return FieldReader.number(in: all, at: &place, before: range.upperBound)
        }
    }

    /// Empty where there is no such field; `nil` where its value isn't texts.
    func texts(_ tag: Tag) -> [String]? {
        guard let range = places[tag.rawValue] else { return [] }
        var texts: [String] = []
        var place = range.lowerBound
        while place < range.upperBound {
            guard let length = FieldReader.number(in: all, at: &place, before: range.upperBound),
                (0...range.upperBound - place).contains(length)
            else { return nil }
            texts.append(String(decoding: all[place..<place + length], as: UTF8.self))
            place += length
        }
        return texts
    }

    func pairs(_ tag: Tag) -> [(name: String, value: String)]? {
        guard let texts = texts(tag), texts.count.isMultiple(of: 2) else { return nil }
        return stride(from: 0, to: texts.count, by: 2).map { (name: texts[$0], value: texts[$0 + 1]) }
    }
}
