import Platform
import EmulatorCore

/// Frees memory after the start. Much code runs only at the start, such as the reading of options and seeds. Its pages
/// stay mapped until the kernel needs them, and are half of the resident memory at rest.
enum ResidentMemory {
    /// Frees the memory in a second. The first requests often come at once, and need much of it.
    static func releaseCodeLater() {
        _ = WorkThread.start {
            sleep(1)
            releaseCode()
        }
    }

    /// Unmaps the pages of code. Pages that are needed again come from the page cache. Only Linux lists them.
    private static func releaseCode() {
        guard let maps = try? File.text(at: "/proc/self/maps") else { return }
        for line in maps.split(separator: "\n") {
            // The fields are: addresses, permissions, offset, device, inode, path. Only pages of code are freed; they
            // are never written to.
            let fields = line.split(separator: " ", omittingEmptySubsequences: true)
            guard fields.count >= 6, fields[1] == "r-xp", fields[5].hasPrefix("/") else { continue }
            let bounds = fields[0].split(separator: "-").compactMap { UInt(String($0), radix: 16) }
            guard bounds.count == 2, let start = UnsafeMutableRawPointer(bitPattern: bounds[0]) else { continue }
            madvise(start, Int(bounds[1] - bounds[0]), MADV_DONTNEED)
        }
    }
}
