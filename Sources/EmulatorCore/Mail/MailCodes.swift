/// Finds the codes that a mail asks its reader to enter.
///
/// Nothing in a mail marks a code. Mails of Django's allauth, Auth0, Cognito, GitHub and Google have the code on a line
/// by itself, or in a sentence about it. Therefore, a number of 4 to 8 digits that is alone on its line is taken for a
/// code. Any other text in the form of a code is found if a word such as "code" is in its line. For a text that is
/// alone on its line, such a word in the line above is enough, too.
enum MailCodes {
    private static let limit = (codes: 20, bytes: 64 << 10, line: 1_000)

    static func find(subject: String, text: String) -> [String] {
        let text = String(decoding: text.utf8.prefix(limit.bytes), as: UTF8.self)
        let lines = ([Substring(subject)] + text.split(whereSeparator: \.isNewline)).map {
            $0.utf8.prefix(limit.line)
        }
        var found: [String] = []
        var words = WordsBefore(lines)
        for (place, bytes) in lines.enumerated() where found.count < limit.codes && mayHoldCode(bytes) {
            let line = Line(bytes)
            guard !line.words.isEmpty else { continue }
            for code in line.codes(announced: { words.announce(place) }) where !found.contains(code) {
                found.append(code)
            }
        }
        return Array(found.prefix(limit.codes))
    }

    /// Returns whether a line of a mail has a digit or a hyphen, as every code does. This quick check comes first,
    /// because splitting a line into words is slow.
    private static func mayHoldCode(_ line: Substring.UTF8View.SubSequence) -> Bool {
        line.contains { (0x30...0x39).contains($0) || $0 == 0x2D }
    }

    /// Finds the nearest line with words above a given line of a mail. All searches together read each line at most
    /// once.
    private struct WordsBefore {
        private let lines: [Substring.UTF8View.SubSequence]
        private var known = 0
        private var announces = false

        init(_ lines: [Substring.UTF8View.SubSequence]) { self.lines = lines }

        /// Finds the nearest line with words above the line with the index `place`, and returns whether one of these
        /// words is "code" or the like. Each call must have a greater index than the call before, since lines above
        /// that call's index aren't read again.
        mutating func announce(_ place: Int) -> Bool {
            for other in (known..<place).reversed() {
                let line = Line(lines[other])
                guard line.words.isEmpty else {
                    announces = line.announces
                    break
                }
            }
            known = place
            return announces
        }
    }

    private struct Line {
        /// The words of a mail's line, without URLs and without the punctuation around the words.
        let words: [String]

        private static let names: Set<String> = [
            "code", "codes", "passcode", "pin", "otp", "tan", "código", "codigo", "codice", "kode", "kód", "kod", "код",
            "コード", "验证码", "驗證碼", "코드", "인증번호",
        ]
        /// Words for "code" and "password" in several languages. Each also counts as a part of a longer word, because
        /// some languages have compound words or no spaces.
        private static let parts = ["code", "码", "碼", "コード", "코드", "인증번호", "passwor", "passwort", "kennwort"]

        init(_ bytes: Substring.UTF8View.SubSequence) {
            let text = String(decoding: bytes, as: UTF8.self)
            words = text.split(whereSeparator: { $0.isWhitespace }).filter { !$0.contains("://") }.map(Line.trimmed)
                .filter { !$0.isEmpty }
        }

        /// Whether the line of a mail has a word such as "code".
        var announces: Bool {
            words.contains { word in
                let word = word.lowercased()
                return Line.names.contains(word) || Line.parts.contains { word.contains($0) }
            }
        }

        private static func trimmed(_ word: Substring) -> String {
            let isInside: (Character) -> Bool = { $0.isLetter || $0.isNumber || "+#$€£©@/\\_=%".contains($0) }
            let head = word.drop { !isInside($0) }
            // Not from the end: Swift reads a run of flags backwards in quadratic time.
            var end = head.startIndex
            for place in head.indices where isInside(head[place]) { end = head.index(after: place) }
            return String(head[..<end])
        }

        func codes(announced: () -> Bool) -> [String] {
            let digits = words.map { $0.utf8.allSatisfy { (0x30...0x39).contains($0) } ? $0.utf8.count : 0 }
            // A number may be in two halves: "123 456".
            if words.count == 2, digits == [3, 3] || digits == [4, 4] { return [words.joined()] }
            if words.count == 1 { return alone(words[0], digits: digits[0], announced: announced) }
            var codes: [String] = []
            for (place, word) in words.enumerated() {
                if (4...8).contains(digits[place]), !isYear(place) { codes.append(word) }
                if digits[place] == 3, digits.indices.contains(place + 1), digits[place + 1] == 3 {
                    codes.append(word + words[place + 1])
                }
                if Line.isMixed(word, lengths: 5...12) || Line.isDivided(word, needsDigit: true) { codes.append(word) }
            }
            return !codes.isEmpty && announces ? codes : []
        }

        private func alone(_ word: String, digits: Int, announced: () -> Bool) -> [String] {
            if (4...8).contains(digits) { return [word] }
            guard Line.isMixed(word, lengths: 4...12) || Line.isDivided(word, needsDigit: false) else { return [] }
            return announced() || announces ? [word] : []
        }

        /// Returns whether the word at this index is the year of a copyright notice, and so isn't a code.
        private func isYear(_ place: Int) -> Bool {
            place > 0 && ["©", "c", "copyright"].contains(words[place - 1].lowercased())
        }

        /// Returns whether the word consists of capital letters and digits, with at least one of each.
        private static func isMixed(_ word: String, lengths: ClosedRange<Int>) -> Bool {
            let letters = word.utf8.count { (0x41...0x5A).contains($0) }
            let digits = word.utf8.count { (0x30...0x39).contains($0) }
            return letters > 0 && digits > 0 && letters + digits == word.utf8.count && lengths.contains(word.utf8.count)
        }

        /// Returns whether a word of a mail is a code with hyphens, such as `123-456`, `ABC-D2F` or `G-123456`.
        private static func isDivided(_ word: String, needsDigit: Bool) -> Bool {
            let halves = word.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
            guard halves.count == 2 || halves.count == 3, word.utf8.count >= 7 else { return false }
            let isPlain = halves.allSatisfy { half in
                (1...6).contains(half.count)
                    && half.allSatisfy { (0x41...0x5A).contains($0) || (0x30...0x39).contains($0) }
            }
            // A date isn't a code.
            let isDate = halves.count == 3 && halves.allSatisfy { $0.allSatisfy { (0x30...0x39).contains($0) } }
            let lastHasDigit = halves.last?.contains { (0x30...0x39).contains($0) } ?? false
            return isPlain && !isDate && (!needsDigit || lastHasDigit)
        }
    }
}
