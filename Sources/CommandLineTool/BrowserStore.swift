import EmulatorCore
import Platform

/// A certificate store for the browsers of one command: a copy of the user's store with the authority's certificate
/// added. Chromium, Chrome and browsers built from them read `~/.pki/nssdb` on Linux; the command sees the copy there.
/// <https://chromium.googlesource.com/chromium/src/+/main/docs/linux/cert_management.md>
struct BrowserStore {
    private static let files = ["cert9.db", "key4.db", "pkcs11.txt"]

    /// The path of the copy.
    let path: String
    /// The path at which browsers look for the store.
    let place: String

    /// The reason why there is no store, in a sentence.
    struct Absence: Error, CustomStringConvertible {
        let description: String
    }

    /// Makes the copy in `directory`. `authority` is the path of the authority's certificate.
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
        // The directories stay: another running command may have its store mounted there.
        do { try File.makeDirectory(place, mode: 0o700) } catch {
            throw Absence(description: "Chromium and Chrome don't trust the authority: \(error)")
        }
    }
}
