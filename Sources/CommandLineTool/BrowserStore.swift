import EmulatorCore
import Platform

/// A certificate store for the browsers of one command: a copy of the person's own, with the authority in it. Chromium and
/// Chrome, and what is built of them, read `~/.pki/nssdb` on Linux; the copy takes its place for the command alone.
/// <https://chromium.googlesource.com/chromium/src/+/main/docs/linux/cert_management.md>
struct BrowserStore {
    private static let files = ["cert9.db", "key4.db", "pkcs11.txt"]

    /// The copy.
    let path: String
    /// Where browsers look.
    let place: String

    /// Why there is none, in a sentence.
    struct Absence: Error, CustomStringConvertible {
        let description: String
    }

    /// Makes the copy in `directory`. `authority` is the file of the authority's certificate.
    init(authority: String, in directory: String) throws(Absence) {
        guard let home = Environment.variable("HOME") else {
            throw Absence(
                description: "browsers don't trust the authority: HOME isn't set, where their store would lie")
        }
        path = "\(directory)/nssdb"
        place = "\(home)/.pki/nssdb"
        mkdir(path, 0o700)
        for file in BrowserStore.files {
            guard let bytes = try? File.read("\(place)/\(file)") else { continue }
            try? File.write(bytes, to: "\(path)/\(file)", mode: 0o600)
        }
        let store = "sql:\(path)"
        if !File.exists("\(path)/cert9.db") {
            _ = QuietCommand.run(["certutil", "-N", "-d", store, "--empty-password"])
        }
        let code = QuietCommand.run([
            "certutil", "-A", "-d", store, "-t", "C,,", "-n", "understudy-exec", "-i", authority,
        ])
        guard let code else {
            throw Absence(
                description:
                    "Chromium and Chrome don't trust the authority, because certutil isn't installed (Debian and "
                    + "Ubuntu: libnss3-tools; Fedora: nss-tools; Alpine: nss-tools)")
        }
        guard code == 0 else {
            throw Absence(
                description:
                    "Chromium and Chrome don't trust the authority: certutil couldn't add it to a copy of \(place)")
        }
        // They stay: the store of another command that runs now may lie over them.
        do { try File.makeDirectory(place, mode: 0o700) } catch {
            throw Absence(description: "Chromium and Chrome don't trust the authority: \(error)")
        }
    }
}
