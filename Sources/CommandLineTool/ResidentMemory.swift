import Glibc
import EmulatorCore

/// Start-up runs through much code that is never needed again: reading options, decoding and checking seeds. Its pages
/// stay mapped until the kernel wants them, half of what the process holds at rest.
enum ResidentMemory {
    /// Unmaps the pages of code. What is needed again comes back from the page cache at its next use.
    static func releaseCode() {
        guard let maps = try? File.text(at: "/proc/self/maps") else { return }
        for line in maps.split(separator: "\n") {
            // address-address permissions offset device inode path; only code, which nothing has written to.
            let fields = line.split(separator: " ", omittingEmptySubsequences: true)
            guard fields.count >= 6, fields[1] == "r-xp", fields[5].hasPrefix("/") else { continue }
            let bounds = fields[0].split(separator: "-").compactMap { UInt(String($0), radix: 16) }
            guard bounds.count == 2, let start = UnsafeMutableRawPointer(bitPattern: bounds[0]) else { continue }
            madvise(start, Int(bounds[1] - bounds[0]), MADV_DONTNEED)
        }
    }
}
