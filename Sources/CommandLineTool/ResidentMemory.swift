import Platform
import EmulatorCore

/// Frees memory after the start. Much code runs only at the start, such as reading options and checking seeds, and its
/// pages stay mapped until the kernel needs them: half of the resident memory at rest.
enum ResidentMemory {
    /// Does so a second from now: the first requests often come at once, and need much of it.
    static func releaseCodeLater() {
        _ = WorkThread.start {
            sleep(1)
            releaseCode()
        }
    }

    /// Unmaps the pages of code. Pages that are needed again come from the page cache. Only Linux says where they are.
    private static func releaseCode() {
        guard let maps = try? File.text(at: "/proc/self/maps") else { return }
        for line in maps.split(separator: "\n") {
            // address-address permissions offset device inode path. Only code, to which nothing has been written.
            let fields = line.split(separator: " ", omittingEmptySubsequences: true)
            guard fields.count >= 6, fields[1] == "r-xp", fields[5].hasPrefix("/") else { continue }
            let bounds = fields[0].split(separator: "-").compactMap { UInt(String($0), radix: 16) }
            guard bounds.count == 2, let start = UnsafeMutableRawPointer(bitPattern: bounds[0]) else { continue }
            madvise(start, Int(bounds[1] - bounds[0]), MADV_DONTNEED)
        }
    }
}
