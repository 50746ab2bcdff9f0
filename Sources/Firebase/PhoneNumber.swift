import EmulatorCore
import JSON

/// Reads phone numbers as people write them: separators are skipped, and letters stand for the digits of their keys.
/// <https://www.itu.int/rec/T-REC-E.161>
enum PhoneNumber {
    /// Returns the number in E.164.
    ///
    /// - Throws: `INVALID_PHONE_NUMBER` for a text that isn't a number.
    static func checked(_ text: String) throws(FirebaseError) -> String {
        guard let number = normalized(text) else {
            throw FirebaseError(
                "INVALID_PHONE_NUMBER", "Invalid format.",
                because: "\(Diagnosis.quote(text)) isn't a number in E.164: a plus sign and digits")
        }
        return number
    }

    static func normalized(_ text: String) -> String? {
        guard text.utf8.first == UInt8(ascii: "+"), text.utf8.count <= longest else { return nil }
        var number = "+"
        for byte in text.utf8.dropFirst() {
            switch byte {
            case 0x30...0x39: number.unicodeScalars.append(Unicode.Scalar(byte))
            case 0x41...0x5A, 0x61...0x7A: number.unicodeScalars.append(Unicode.Scalar(keys[Int(byte | 0x20) - 0x61]))
            case UInt8(ascii: " "), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "("), UInt8(ascii: ")"): continue
            default: return nil
            }
        }
        // No country code begins with a zero.
        guard !number.hasPrefix("+0"), TextRule.phoneNumber.holds(number) else { return nil }
        return number
    }

    /// The greatest length of a number with its separators: longer than any that exists.
    private static let longest = 64
    /// The digits on whose keys the letters from A to Z are.
    private static let keys = Array("22233344455566677778889999".utf8)
}
